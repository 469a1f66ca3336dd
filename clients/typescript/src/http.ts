import { SignoffError } from "./errors.js";
import { backoff, sleep } from "./wait.js";

export interface ClientOptions {
  /** The address of Signoff, such as `http://127.0.0.1:8080`, or the path of a proxy, such as `/api`. */
  baseUrl: string;
  /** An API key, or a function that returns one. It goes into a header and never into a URL. A proxy may add it instead. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** How often to repeat a repeatable request if no answer comes or the server is too busy. Default 2. */
  retries?: number | undefined;
}

/** One request. Undefined values of `query` are left out. */
export interface Call {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  /** The body as it is, in place of JSON. */
  bytes?: Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends requests to one server. */
export class Transport {
  readonly #base: string;
  readonly #token: ClientOptions["token"];
  readonly #fetch: typeof fetch;
  readonly #retries: number;

  constructor(options: ClientOptions) {
    this.#base = options.baseUrl.replace(/\/+$/, "");
    this.#token = options.token;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init)); // a browser's must be called as a function
    this.#retries = options.retries ?? 2;
  }

  /** Sends a request once and returns whatever answer comes. */
  async open(call: Call): Promise<Response> {
    const headers = new Headers();
    for (const [name, value] of Object.entries(call.headers ?? {})) if (value !== undefined) headers.set(name, value);
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
    const init: RequestInit = { method: call.method, headers, cache: "no-store", signal: call.signal ?? null };
    if (call.body !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(call.body);
    } else if (call.bytes !== undefined) {
      headers.set("Content-Type", "application/octet-stream");
      init.body = call.bytes;
    }
    const url = this.#base + call.path + search(call.query ?? {});
    try {
      return await this.#fetch(url, init);
    } catch (error) {
      call.signal?.throwIfAborted();
      throw SignoffError.unreachable(error);
    }
  }

  /** Sends a request until it is answered, and returns the body. Only for requests that may be sent twice. */
  json<T>(call: Call): Promise<T> {
    return this.#repeated(call, () => this.once<T>(call));
  }

  async #repeated<T>(call: Call, once: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await once();
      } catch (error) {
        if (!(error instanceof SignoffError) || !error.temporary || tries > this.#retries) throw error;
        await sleep(Math.min(backoff(error.retryAfter ?? 300, tries), 10_000), call.signal);
      }
    }
  }

  /** Sends a request until it is answered, and returns the body. Only for requests that may be sent twice. */
  blob(call: Call): Promise<Blob> {
    return this.#repeated(call, () => this.#read(call, "*/*", (response) => response.blob()));
  }

  /** Sends a request once and returns the body. */
  once<T>(call: Call): Promise<T> {
    return this.#read(call, "application/json", (response) => (response.status === 204 ? undefined : response.json()) as T | Promise<T>);
  }

  async #read<T>(call: Call, accept: string, read: (response: Response) => T | Promise<T>): Promise<T> {
    const response = await this.open({ ...call, headers: { Accept: accept, ...call.headers } });
    if (!response.ok) throw await SignoffError.from(response);
    try {
      return await read(response);
    } catch (error) {
      call.signal?.throwIfAborted();
      if (error instanceof SyntaxError) throw new SignoffError(response.status, { title: "The answer is not JSON" }, { cause: error });
      throw SignoffError.unreachable(error); // it broke off
    }
  }
}

function search(query: NonNullable<Call["query"]>): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) all.append(name, String(one));
  }
  const text = all.toString();
  return text === "" ? "" : `?${text}`;
}
