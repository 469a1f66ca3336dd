// The real binary on 127.0.0.1, with a data folder and a workspace of its own. It can be killed, and started again over the same data at the
// same address, as a server that crashes under an open page is. Whatever becomes of the tests, no process and no folder is left.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const binary = process.env.SIGNOFF_TEST_BINARY;
const running = new Set();
const folders = new Set();

process.on("exit", () => {
  running.forEach((child) => child.kill("SIGKILL"));
  folders.forEach((folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

/** What the API refused. */
export class Refused extends Error {
  constructor(method, path, status, body) {
    super(`${method} ${path} answers ${status}: ${JSON.stringify(body)}`);
    this.status = status;
    this.body = body;
  }
}

export class Server {
  #child;
  #said = "";
  #port = 0;
  #more;
  #sandbox = process.env.SIGNOFF_SANDBOX || "auto";

  constructor(home, env = {}) {
    this.home = home;
    this.#more = env;
    this.workspace = join(home, "workspace");
    folders.add(home);
  }

  /**
   * Starts a server over a scripted model; without one it has the demo's. env is added to its environment, more goes into signoff.yaml as it stands. Executions
   * take no checkpoints, unless their request wants them: each of them costs starts of git.
   */
  static async up({ model, env, settings, ...more } = {}) {
    const server = new Server(await mkdtemp(join(tmpdir(), "signoff-console-")), env);
    const demo = { provider: "demo" };
    const models =
      model === undefined
        ? { default: "demo", demo }
        : { default: "scripted", scripted: { provider: "openai", model: "m", baseUrl: model.url }, demo };
    try {
      await mkdir(server.workspace);
      await writeFile(join(server.home, "signoff.yaml"), JSON.stringify({ models, settings: { defaultCheckpoints: "off", ...settings }, ...more })); // JSON is YAML
      await server.start();
      if (server.sandbox === "none") await server.withoutWalls();
    } catch (error) {
      await server.down();
      throw error;
    }
    return server;
  }

  /** Where the machine cannot confine commands the server would refuse them all, and there would be nothing to approve. */
  async withoutWalls() {
    await this.stop();
    this.#sandbox = "off";
    await this.start();
  }

  /** Starts the process; again over the same data, at the same address. */
  async start() {
    assert.ok(binary, "SIGNOFF_TEST_BINARY must name the binary; type: scripts/test-console.sh");
    const child = spawn(binary, ["serve"], { cwd: this.home, env: this.#env(), stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    this.#said = "";
    running.add(child);
    child.unref();
    child.stderr.unref();
    child.once("exit", () => running.delete(child));
    this.url = await this.#listens(child);
    this.#port = new URL(this.url).port;
    this.token = (await readFile(join(this.home, "data", "token"), "utf8")).trim();
  }

  #listens(child) {
    return new Promise((resolve, reject) => {
      const failed = () => reject(new Error(`the server does not come up:\n${this.#said}`));
      const timer = setTimeout(failed, 30_000);
      child.once("error", reject);
      child.once("exit", failed);
      child.stderr.on("data", (piece) => {
        this.#said += piece;
        const found = /listens on (http:\/\/\S+) \(sandbox: (\S+)\)/.exec(this.#said);
        if (found === null) return;
        clearTimeout(timer);
        this.sandbox = found[2];
        resolve(found[1]);
      });
    });
  }

  #env() {
    return {
      PATH: process.env.PATH,
      HOME: this.home,
      SIGNOFF_ADDR: `127.0.0.1:${this.#port}`,
      SIGNOFF_DATA_DIR: join(this.home, "data"),
      SIGNOFF_CONFIG: join(this.home, "signoff.yaml"),
      SIGNOFF_WORKSPACE_ROOT: this.workspace,
      SIGNOFF_SANDBOX: this.#sandbox,
      SIGNOFF_LEASE_SECONDS: "2",
      SIGNOFF_DRAIN_SECONDS: "5",
      ...this.#more,
    };
  }

  /** Ends the process: SIGTERM drains it, SIGKILL is a crash. */
  async stop(signal = "SIGTERM") {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await gone;
    clearTimeout(timer);
  }

  kill() {
    return this.stop("SIGKILL");
  }

  /** Ends the process for good, and takes its folder away. */
  async down() {
    await this.kill();
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
    folders.delete(this.home);
  }

  /** The link by which a tab comes in, as a person gets it. */
  link(page = "", token = this.token) {
    return `${this.url}/#token=${token}${page === "" ? "" : `&page=${page}`}`;
  }

  /** Makes a key and returns its token. */
  async key(name, scopes = "all") {
    const { stdout } = await promisify(execFile)(binary, ["keys", "create", "--name", name, "--scopes", scopes], {
      cwd: this.home,
      env: this.#env(),
    });
    return stdout.trim();
  }

  async call(method, path, body, token = this.token) {
    const headers = { Authorization: `Bearer ${token}`, Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(90_000),
    });
    const text = await response.text();
    const answer = text === "" ? undefined : JSON.parse(text);
    if (!response.ok) throw new Refused(method, path, response.status, answer);
    return answer;
  }

  get(path, token) {
    return this.call("GET", path, undefined, token);
  }

  post(path, body, token) {
    return this.call("POST", path, body, token);
  }

  /** Creates an execution of the internal agent. */
  create(body, token) {
    return this.post("/executions", { source: { type: "internal" }, ...body }, token);
  }

  /** The nth thing that an execution asks, as soon as it asks it. */
  async asks(id, nth = 1) {
    return eventually(`execution ${id} asks question ${nth}`, async () => {
      const { items } = await this.get(`/executions/${id}/approvals`);
      return items.sort((a, b) => a.requestedAt.localeCompare(b.requestedAt))[nth - 1];
    });
  }

  /** Creates an execution, and gives the first thing that it asks. */
  async question(body) {
    const { id } = await this.create(body);
    return this.asks(id);
  }

  /** Decides as a person with this token does who has seen the approval. */
  decide(approval, decision, token) {
    return this.post(`/approvals/${approval.id}`, { argumentsHash: approval.argumentsHash, ...decision }, token);
  }

  /** The execution, when it has one of these statuses. */
  async reaches(id, ...statuses) {
    return eventually(`execution ${id} is ${statuses.join(" or ")}`, async () => {
      const execution = await this.get(`/executions/${id}`);
      return statuses.includes(execution.status) ? execution : undefined;
    });
  }

  /** Its end, whichever. */
  ends(id) {
    return this.reaches(id, "completed", "failed", "cancelled", "timedOut");
  }

  /** All items of an execution. */
  async items(id) {
    const all = [];
    for (let after = ""; after !== null;) {
      const page = await this.get(`/executions/${id}/items?limit=500${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`);
      all.push(...page.items);
      after = page.nextCursor;
    }
    return all;
  }
}

/** Looks until there is something to be seen, and returns it. */
export async function eventually(what, look, patience = 90_000) {
  for (const end = Date.now() + patience; ; await sleep(50)) {
    const found = await look();
    if (found !== undefined && found !== false && found !== null) return found;
    if (Date.now() > end) throw new Error(`still waiting after ${patience / 1000} s: ${what}`);
  }
}
