import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Signoff } from "@signoff/client";
import { Server } from "./server.js";

let server: Server;
let page: ReturnType<typeof spawn>;
let url = "";

before(async () => {
  server = await Server.up();
  const script = fileURLToPath(new URL("../../example/serve.mjs", import.meta.url));
  const env = { PATH: process.env["PATH"], SIGNOFF_URL: server.url, SIGNOFF_TOKEN: server.token, PORT: "0" };
  page = spawn(process.execPath, [script], { env, stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => page.kill("SIGKILL"));
  const [line] = (await once(page.stdout!, "data")) as [Buffer];
  page.unref();
  (page.stdout as Socket).unref();
  url = /http:\S+/.exec(line.toString())![0];
});
after(async () => {
  page?.kill("SIGKILL");
  await server?.down();
});

test("the page and all that it loads are there", async () => {
  const html = await (await fetch(url)).text();
  const paths = [...html.matchAll(/(?:href|src)="(\/[^"]+)"|"(\/client\/[^"]+)"/g)].map((found) => found[1] ?? found[2]!);
  assert.ok(paths.length >= 3, html);
  for (const path of paths) {
    const response = await fetch(url + path);
    assert.equal(response.status, 200, path);
    for (const [, name] of (await response.text()).matchAll(/from "\.\/([a-z]+\.js)"/g)) {
      assert.equal((await fetch(new URL(name!, url + path))).status, 200, name);
    }
  }
  for (const path of ["/client/../package.json", "/client/%2e%2e/package.json", "/example/serve.mjs", "/nothing"]) {
    assert.equal((await fetch(url + path)).status, 404, path);
  }
});

test("the proxy adds the key, and passes calls and streams on", async () => {
  const signoff = new Signoff({ baseUrl: `${url}/api` });
  const { id } = await signoff.createExecution({ source: { type: "internal" }, prompt: "Hello.", capabilities: { execute: "deny" } });
  const seqs: number[] = [];
  for await (const { seq } of signoff.events(id)) seqs.push(seq);
  assert.equal(seqs.at(-1), (await signoff.getExecution(id)).lastSeq);
});

test("pages of other origins and names that point here are turned away", async () => {
  const { port } = new URL(url);
  for (const [headers, status] of [
    [{ host: `127.0.0.1:${port}` }, 200],
    [{ host: `127.0.0.1:${port}`, origin: url }, 200],
    [{ host: `127.0.0.1:${port}`, origin: "http://evil.test" }, 403],
    [{ host: `127.0.0.1:${port}`, origin: "null" }, 403],
    [{ host: `evil.test:${port}` }, 403],
  ] as const) {
    const asked = request({ host: "127.0.0.1", port, path: "/api/approvals", headers }).end();
    const [answer] = (await once(asked, "response")) as [import("node:http").IncomingMessage];
    answer.resume();
    assert.equal(answer.statusCode, status, JSON.stringify(headers));
  }
});
