// Streams of events, read by fetch, since an EventSource cannot send a token in a header. A reader goes on over as many connections as
// it takes: it resumes behind the last event that it has, passes over what it had already, notices where one is missing, and
// says in which state the connection is.

import { Problem, executionPath, open, sleep } from "./api.js";
import { parseJSON } from "./json.js";

/** The server sends a heartbeat every 15 seconds; a connection that is silent for longer than this is dead. */
const silence = 40_000;

const terminal = new Set(["execution.completed", "execution.failed", "execution.cancelled", "execution.timedOut"]);

/** Tells whether an event is the last of its log. */
export function isTerminal(event) {
  return terminal.has(event.type);
}

/**
 * Follows the log of one execution from behind `after` on. It ends with the terminal event.
 *
 *   onEvents(events)   those that came at once, in order, each exactly once
 *   onSynced()         history is over; again after each reconnection
 *   onState(state)     {name: "connecting" | "live" | "reconnecting" | "ended" | "failed", wait, problem}
 *
 * Aborting the signal ends it without a word.
 */
export function followExecution(id, after, handlers, signal) {
  let last = after;
  return new Reader(`${executionPath(id)}/events`, after === 0 ? undefined : String(after), {
    isNew(event) {
      if (event.seq <= last) return false;
      if (event.seq !== last + 1) throw new Hole(`Event ${event.seq} came after event ${last}.`);
      last = event.seq;
      return true;
    },
    isLast: isTerminal,
  }, handlers, signal).run();
}

/** Follows what happens in all executions from now on. It has no end. A log that this reader has not seen yet may begin anywhere. */
export function followAll(handlers, signal) {
  const last = new Map();
  return new Reader("/events?from=now", undefined, {
    isNew(event) {
      if (event.seq <= (last.get(event.executionId) ?? 0)) return false;
      last.delete(event.executionId);
      last.set(event.executionId, event.seq); // who spoke last stands last
      if (last.size > 10_000) last.delete(last.keys().next().value);
      return true;
    },
    isLast: () => false,
  }, handlers, signal).run();
}

/** An event is missing. What was shown cannot be trusted, so the reader stops. */
class Hole extends Error {}

class Reader {
  constructor(path, cursor, log, handlers, signal) {
    Object.assign(this, { path, cursor, log, handlers, signal, failures: 0, suggested: undefined });
  }

  async run() {
    this.state({ name: "connecting" });
    try {
      while (!(await this.connection())) await this.pause();
      this.state({ name: "ended" });
    } catch (error) {
      if (this.signal.aborted) return;
      this.state({ name: "failed", problem: error });
    }
  }

  state(state) {
    if (!this.signal.aborted) this.handlers.onState?.(state);
  }

  /** Reads one connection. Returns true at the end of the log, and false where another connection may bring more. */
  async connection() {
    const line = new Line(this.signal);
    this.failures++;
    try {
      const headers = { Accept: "text/event-stream" };
      if (this.cursor !== undefined) headers["Last-Event-ID"] = this.cursor;
      const response = await line.alive(open("GET", this.path, { headers, signal: line.signal }));
      if (response.status === 204) return true;
      const bytes = response.body.getReader();
      this.state({ name: "live" });
      const frames = new Frames();
      for (;;) {
        const { done, value } = await line.alive(bytes.read());
        if (done) return false;
        if (this.take(frames.push(value))) return true;
        this.suggested = frames.retry ?? this.suggested;
      }
    } catch (error) {
      this.signal.throwIfAborted();
      if (!(error instanceof Problem) || !error.temporary) throw error; // another connection would only repeat it
      this.suggested = error.retryAfter ?? this.suggested;
      return false;
    } finally {
      line.hangUp();
    }
  }

  take(frames) {
    const fresh = [];
    let synced = false;
    for (const frame of frames) {
      this.failures = 0;
      synced ||= frame.event === "stream.synced";
      if (frame.id === undefined) continue; // a mark, not a fact
      const event = parseJSON(frame.data);
      event.line = frame.data;
      if (this.log.isNew(event)) fresh.push(event);
      this.cursor = frame.id;
    }
    if (this.signal.aborted) return true;
    if (fresh.length > 0) this.handlers.onEvents(fresh);
    if (synced) this.handlers.onSynced?.();
    return fresh.length > 0 && this.log.isLast(fresh.at(-1));
  }

  /** Waits between two connections, but not when the machine is back in its network, or the person back at the page. */
  async pause() {
    const wait = Math.min((this.suggested ?? 500) * 1.5 ** Math.min(this.failures, 8), 15_000) * (0.8 + 0.4 * Math.random());
    this.suggested = undefined;
    this.state({ name: "reconnecting", wait });
    const over = new AbortController();
    const wake = () => document.visibilityState === "visible" && over.abort();
    window.addEventListener("online", wake, { signal: over.signal });
    document.addEventListener("visibilitychange", wake, { signal: over.signal });
    await sleep(wait, AbortSignal.any([this.signal, over.signal])).catch(() => this.signal.throwIfAborted());
    over.abort();
  }
}

/** One connection, given up when nothing comes: a laptop that slept, a router that forgot. */
class Line {
  constructor(outer) {
    this.controller = new AbortController();
    this.signal = AbortSignal.any([outer, this.controller.signal]);
  }

  async alive(sign) {
    const timer = setTimeout(() => this.controller.abort(new Error("Nothing came.")), silence);
    try {
      return await sign;
    } catch (error) {
      throw error instanceof Problem ? error : Problem.unreachable();
    } finally {
      clearTimeout(timer);
    }
  }

  hangUp() {
    this.controller.abort();
  }
}

/**
 * Puts frames together from bytes that come in pieces of any size, as the HTML standard has it. What has no empty line after it is not a frame, so a
 * connection that breaks within one leaves nothing behind. The server's lines end in a line feed; a proxy might make that CR LF.
 */
export class Frames {
  retry;
  #decoder = new TextDecoder();
  #rest = "";
  #frame = {};

  push(bytes) {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    const frames = [];
    let start = 0;
    for (let end; (end = text.indexOf("\n", start)) >= 0; start = end + 1) {
      this.#line(text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end), frames);
    }
    this.#rest = text.slice(start);
    return frames;
  }

  #line(line, frames) {
    if (line === "") {
      if (this.#frame.data !== undefined) frames.push({ event: "message", ...this.#frame });
      this.#frame = {};
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#frame.data = this.#frame.data === undefined ? value : `${this.#frame.data}\n${value}`;
    else if (name === "event") this.#frame.event = value;
    else if (name === "id") this.#frame.id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.retry = Number(value);
  }
}
