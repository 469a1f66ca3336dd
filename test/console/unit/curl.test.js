// Commands are proved by the shell that they are for: sh runs them with a curl of its own that tells what it was given.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { curlOf } from "../../../internal/console/web/again.js";
import { curl, quote } from "../../../internal/console/web/curl.js";

let bin;

before(() => {
  bin = mkdtempSync(join(tmpdir(), "signoff-curl-"));
  const tell = "process.stdout.write(JSON.stringify({ words: process.argv.slice(2), input: require('node:fs').readFileSync(0, 'utf8') }))";
  writeFileSync(join(bin, "tell.cjs"), tell);
  writeFileSync(join(bin, "curl"), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, "tell.cjs")}" "$@"\n`);
  chmodSync(join(bin, "curl"), 0o700);
});
after(() => rmSync(bin, { recursive: true, force: true }));

/** What a command gives to curl: its words, and its standard input. It is pasted as a file: a here-document has no bound. */
function run(command) {
  const script = join(bin, "script");
  writeFileSync(script, command);
  const env = { PATH: `${bin}:${process.env.PATH}`, SIGNOFF_URL: "http://127.0.0.1:1", SIGNOFF_TOKEN: "the token" };
  return JSON.parse(execFileSync("sh", [script], { env, input: "", maxBuffer: 1 << 26, encoding: "utf8" }));
}

/** The body that a command sends. */
function sent(command) {
  const { words, input } = run(command);
  const data = words[words.indexOf("-d") + 1];
  return JSON.parse(data === "@-" ? input : data);
}

const hostile = [
  "'", "''", "'\\''", "\\", "\\'", '"', "$(touch pwned)", "`touch pwned`", "$HOME ${HOME}", "!!", "a\nb", "a\n'\nJSON\nb", "\nJSON\n", "@file", "-X",
  "%s", "\t", "\r\n", "\0", "é", "😀", "\u202e", "\u200b", "\u{e0041}", "\ud800", "\u2028", "\u3164",
  "; rm -rf /", "#", "~", "*", "\\u0027", " ".repeat(300), "",
];

test("whatever a prompt says, it arrives as it is", () => {
  for (const prompt of hostile) assert.deepEqual(sent(curl("POST", "/executions", { prompt })), { prompt }, JSON.stringify(prompt));
});

test("a text is one word of sh", () => {
  for (const text of hostile.filter((one) => !one.includes("\0") && one.isWellFormed())) assert.deepEqual(run(`curl ${quote(text)}`).words, [text]);
});

test("a body that is too long for an argument goes by a here-document", () => {
  const prompt = `${"'😀\nJSON\n$(x)`x`\\".repeat(20_000)}`;
  const command = curl("POST", "/executions", { prompt });
  assert.match(command, /<<'JSON'\n/);
  assert.deepEqual(sent(command), { prompt });
});

test("address and token come from the shell", () => {
  const command = curl("POST", "/executions", { prompt: "x" });
  assert.ok(command.startsWith('curl -sS "$SIGNOFF_URL"/executions -H "Authorization: Bearer $SIGNOFF_TOKEN"'), command);
  const { words } = run(command);
  const headers = ["-H", "Authorization: Bearer the token", "-H", "Content-Type: application/json"];
  assert.deepEqual(words.slice(0, -1), ["-sS", "http://127.0.0.1:1/executions", ...headers, "-d"]);
});

test("the method stands where curl would take another one, and an address is not taken apart", () => {
  const cases = [
    ["GET", "/executions?status=failed&status=timedOut", undefined, ["-sS", "http://127.0.0.1:1/executions?status=failed&status=timedOut"]],
    ["DELETE", "/permission-rules/a'b", undefined, ["-sS", "-X", "DELETE", "http://127.0.0.1:1/permission-rules/a'b"]],
    ["POST", "/executions/x/close", undefined, ["-sS", "-X", "POST", "http://127.0.0.1:1/executions/x/close"]],
    ["PUT", "/memory/{a}[1]", {}, ["-sS", "-X", "PUT", "http://127.0.0.1:1/memory/%7Ba%7D%5B1%5D"]],
  ];
  for (const [method, path, body, expected] of cases) {
    const { words } = run(curl(method, path, body));
    assert.deepEqual(words.slice(0, words.indexOf("-H")), expected);
  }
});

test("nothing in a command is unseen", () => {
  const command = curl("POST", "/executions", { prompt: "a\u202eb\u200bc\u{e0041}d\u00a0e\u007ff\u0085g\ufe0fh\ud800i\u3164j" });
  assert.ok(command.includes("a\\u202eb\\u200bc\\udb40\\udc41d\\u00a0e\\u007ff\\u0085g\\ufe0fh\\ud800i\\u3164j"), command);
});

test("a prompt with pictures is sent again with their ids", () => {
  const parts = [
    { type: "text", text: "Look" }, { type: "image", fileId: "file_1", path: "a.png", name: "a.png", mediaType: "image/png", size: 3 }, { type: "file", fileId: "file_2" },
  ];
  const body = sent(curlOf({ kind: "agent", source: { type: "internal" }, prompt: "Look", parts }));
  assert.deepEqual(body.prompt, [{ type: "text", text: "Look" }, { type: "image", fileId: "file_1", name: "a.png" }, { type: "file", fileId: "file_2" }]);
});
