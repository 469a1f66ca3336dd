// The public API, and nothing else. Every request carries the tab's token in a header, never in a URL.

import { learnTime } from "./clock.js";
import { parseJSON } from "./json.js";
import { token } from "./token.js";

/** What the API refused, or why nobody answered. */
export class Problem extends Error {
  /**
   * @param {number} status of the answer; 0: there was none
   * @param {object} body application/problem+json
   * @param {number} [retryAfter] in milliseconds
   */
  constructor(status, body = {}, retryAfter) {
    super(body.detail || body.title || `The server answered ${status}.`);
    this.status = status;
    this.code = body.code;
    this.body = body;
    this.errors = body.errors ?? []; // [{pointer, message}]
    this.retryAfter = retryAfter;
  }

  /** The same may go better in a moment. */
  get temporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  static unreachable() {
    return new Problem(0, { detail: "The server cannot be reached." });
  }

  static async from(response) {
    const wait = Number(response.headers.get("Retry-After"));
    let body = {};
    try {
      body = parseJSON(await response.text());
    } catch {
      // a proxy answers in words of its own
    }
    return new Problem(response.status, body, wait > 0 ? wait * 1000 : undefined);
  }
}

const listeners = new Set();

/** Calls back when the API does not know the token any more. */
export function onUnauthenticated(listener) {
  listeners.add(listener);
}

/** Sends a request once and returns its answer, which is one of success. */
export async function open(method, path, { body, headers = {}, signal } = {}) {
  const all = { Accept: "application/json", ...headers };
  if (token() !== null) all.Authorization = `Bearer ${token()}`;
  if (body !== undefined) all["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body), signal, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw Problem.unreachable();
  }
  return succeeded(response);
}

/** An answer that is one of success; another one is a Problem. */
async function succeeded(response) {
  learnTime(response);
  if (response.ok) return response;
  const problem = await Problem.from(response);
  if (response.status === 401) for (const listener of listeners) listener(problem);
  throw problem;
}

async function read(response) {
  if (response.status === 204) return undefined;
  const text = await response.text().catch(() => {
    throw Problem.unreachable(); // it broke off
  });
  try {
    return parseJSON(text);
  } catch {
    throw new Problem(response.status, { detail: "The answer of the server cannot be read. Does a proxy stand before it?" });
  }
}

/** Who is told to wait for longer is told so, and does not look at a page that says nothing. */
const longestWait = 5000;

/** get("/approvals", {status: "pending"}) */
export function get(path, query = {}, options = {}) {
  return repeated(async () => read(await open("GET", path + search(query), options)), options);
}

/** The bytes at a path, as a blob of the type that the server says. */
export function bytesOf(path, options = {}) {
  return repeated(async () => (await open("GET", path, { ...options, headers: { Accept: "*/*" } })).blob(), options);
}

async function repeated(ask, options) {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (problem) {
      if (!(problem instanceof Problem) || !problem.temporary || tries > 2 || problem.retryAfter > longestWait) throw problem;
      await sleep(problem.retryAfter ?? 300 * tries, options.signal);
    }
  }
}

/**
 * post("/executions", {…}). With a key the request may be repeated, and starts nothing twice: it is sent again where nobody answers.
 */
export async function post(path, body, { key, signal } = {}) {
  const headers = key === undefined ? {} : { "Idempotency-Key": key };
  for (let tries = 1; ; tries++) {
    try {
      return await read(await open("POST", path, { body, headers, signal }));
    } catch (problem) {
      if (key === undefined || problem.status !== 0 || tries > 2) throw problem;
      await sleep(300 * tries, signal);
    }
  }
}

/**
 * Sends the bytes of a file, which is not said to be anything: the server finds out. Unlike fetch, this tells how much is sent: progress is
 * called with a part between 0 and 1.
 */
export async function upload(path, blob, { progress, signal }) {
  const request = new XMLHttpRequest();
  request.open("POST", path);
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("Content-Type", "application/octet-stream");
  if (token() !== null) request.setRequestHeader("Authorization", `Bearer ${token()}`);
  request.upload.addEventListener("progress", ({ loaded, total }) => progress(total > 0 ? loaded / total : 1));
  signal.addEventListener("abort", () => request.abort());
  await new Promise((resolve) => {
    request.addEventListener("loadend", resolve);
    request.send(blob);
  });
  if (request.status === 0) throw Problem.unreachable();
  const headers = new Headers(["Retry-After", "Date"].flatMap((name) => (request.getResponseHeader(name) === null ? [] : [[name, request.getResponseHeader(name)]])));
  return read(await succeeded(new Response(request.responseText, { status: request.status, headers })));
}

export async function remove(path) {
  return read(await open("DELETE", path));
}

function search(query) {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") all.append(name, one);
  }
  return all.size === 0 ? "" : `?${all}`;
}

/** The path of an execution in the API, and behind a # that of its page. */
export function executionPath(id) {
  return `/executions/${encodeURIComponent(id)}`;
}

/** The path of an approval in the API. */
export function approvalPath(id) {
  return `/approvals/${encodeURIComponent(id)}`;
}

/** Waits, or throws when the signal is aborted. */
export function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) return stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
