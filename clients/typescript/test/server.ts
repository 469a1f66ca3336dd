import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Signoff, type ClientOptions } from "@signoff/client";

/** The binary under test, and what has to be undone. */
const binary = process.env["SIGNOFF_TEST_BINARY"];
const running = new Set<ChildProcess>();
const folders = new Set<string>();

// The last resort: whatever happens to this process, no server outlives it, and no folder.
process.on("exit", () => {
  running.forEach((child) => child.kill("SIGKILL"));
  folders.forEach((folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

/** One process of the binary on 127.0.0.1, and the folder that outlives it. */
export class Server {
  readonly #home: string;
  #child: ChildProcess | undefined;
  #said = "";
  url = "";
  token = "";

  private constructor(home: string) {
    this.#home = home;
    folders.add(home);
  }

  /** Starts a server over a model that speaks OpenAI's chat completions at baseUrl; without one it has the demo's. */
  static async up(baseUrl?: string): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), "signoff-client-")));
    await mkdir(join(server.#home, "workspace"));
    const model = baseUrl === undefined ? { provider: "demo" } : { provider: "openai", model: "m", baseUrl };
    await writeFile(join(server.#home, "signoff.yaml"), JSON.stringify({ models: { default: "test", test: model }, settings: { defaultCheckpoints: "off" } })); // JSON is YAML
    try {
      await server.start();
    } catch (error) {
      await server.down();
      throw error;
    }
    return server;
  }

  /** Starts the process, and again after it was stopped, over the same data. */
  async start(): Promise<void> {
    assert.ok(binary, "SIGNOFF_TEST_BINARY must name the binary; type: make test-client");
    const child = spawn(binary, ["serve"], { cwd: this.#home, env: this.#env(), stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    this.#said = "";
    running.add(child);
    child.unref(); // where all tests are filtered out nothing stops it, and this process would wait for it
    (child.stderr as Socket).unref();
    child.once("exit", () => running.delete(child));
    this.url = await new Promise<string>((resolve, reject) => {
      const failed = () => reject(new Error(`the server does not come up:\n${this.#said}`));
      const timer = setTimeout(failed, 60_000);
      child.once("error", reject);
      child.once("exit", failed);
      child.stderr.on("data", (piece: Buffer) => {
        this.#said += piece;
        const found = /listens on (http:\/\/\S+)/.exec(this.#said);
        if (found?.[1] === undefined) return;
        clearTimeout(timer);
        resolve(found[1]);
      });
    });
    this.token = (await readFile(join(this.#home, "data", "token"), "utf8")).trim();
  }

  #env(): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      HOME: this.#home,
      SIGNOFF_ADDR: "127.0.0.1:0",
      SIGNOFF_DATA_DIR: join(this.#home, "data"),
      SIGNOFF_CONFIG: join(this.#home, "signoff.yaml"),
      SIGNOFF_WORKSPACE_ROOT: join(this.#home, "workspace"),
      SIGNOFF_LEASE_SECONDS: "2",
      SIGNOFF_DRAIN_SECONDS: "10",
    };
  }

  /** A client of this server, or of what stands before it. */
  client(options: Partial<ClientOptions> = {}): Signoff {
    return new Signoff({ baseUrl: this.url, token: this.token, ...options });
  }

  /** Ends the process: SIGTERM drains it, SIGKILL is a crash. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
    await gone;
    clearTimeout(timer);
  }

  /** Ends the process for good, and takes its folder away. */
  async down(): Promise<void> {
    await this.stop("SIGKILL");
    await rm(this.#home, { recursive: true, force: true });
    folders.delete(this.#home);
  }
}
