import { SignoffError, StreamError } from "./errors.js";
import { EventStreamParser, type Frame } from "./sse.js";
import type { Event, FeedEvent } from "./types.js";
import { backoff, sleep } from "./wait.js";

/**
 * `connecting` until the first answer, `live` while events come, `reconnecting` after the connection broke, `ended` when
 * the iteration is over, for whatever reason.
 */
export type StreamState = "connecting" | "live" | "reconnecting" | "ended";

/** Why a stream is `reconnecting`, and when it tries again. */
export interface Broken {
  /** The error that broke the connection; undefined if the server closed it, which it does when it stops. */
  error?: unknown;
  /** How many connections in a row brought nothing, this one included. */
  failures: number;
  /** Milliseconds until the next try. */
  wait: number;
}

export interface FollowOptions {
  /** The cursor of the last event that the reader has. Without it the stream begins with the first event. */
  after?: number | string | undefined;
  /** Ends the iteration: it throws the signal's reason. */
  signal?: AbortSignal | undefined;
  onState?: ((state: StreamState, broken?: Broken) => void) | undefined;
  /** Called when history is over and live events begin; again after each reconnection. */
  onSynced?: (() => void) | undefined;
  /** Silence after which the connection counts as dead. The server sends a heartbeat every 15 seconds. */
  silence?: number | undefined;
  /** How many connections in a row may bring nothing before the last error is thrown. Without it, any number. */
  maxFailures?: number | undefined;
  /** How long to wait before the next connection, in milliseconds, in place of `backoff`. */
  backoff?: ((suggested: number | undefined, failures: number) => number) | undefined;
}

/** An event as it came. */
export interface Received<E extends Event = Event> {
  /** Send it as `after` to continue with the next event. */
  cursor: string;
  event: E;
  /** The event byte for byte as the server wrote it. */
  line: string;
}

/** The source of a stream. */
export interface Source<E extends Event = Event> {
  /** Requests the events after the cursor. */
  open(cursor: string | undefined, signal: AbortSignal): Promise<Response>;
  /** Tells whether an event is new, and throws if one is missing before it. */
  isNew(event: E, cursor: string): boolean;
  /** Nothing follows this event. */
  isLast(event: E): boolean;
}

/**
 * Reads a stream to its end, over as many connections as that takes. Each event comes once and in order; a missing
 * event throws a StreamError. Errors that another try cannot mend are thrown as SignoffError.
 */
export async function* readEvents<E extends Event = Event>(
  source: Source<E>,
  options: FollowOptions = {},
): AsyncGenerator<Received<E>, void, undefined> {
  const reader = new Reader(source, options);
  options.onState?.("connecting");
  try {
    while (!(yield* reader.connection())) await reader.pause();
  } finally {
    options.onState?.("ended");
  }
}

class Reader<E extends Event> {
  readonly #source: Source<E>;
  readonly #options: FollowOptions;
  #cursor: string | undefined;
  #suggested: number | undefined; // by the server, how long to wait
  #failures = 0; // connections in a row that brought nothing
  #error: unknown; // of the last connection

  constructor(source: Source<E>, options: FollowOptions) {
    this.#source = source;
    this.#options = options;
    this.#cursor = options.after === undefined ? undefined : String(options.after);
  }

  /** Reads one connection. Returns true at the end of the stream, false if the connection ended before it. */
  async *connection(): AsyncGenerator<Received<E>, boolean, undefined> {
    const line = new Line(this.#options.signal, this.#options.silence ?? 45_000);
    this.#error = undefined;
    this.#failures++;
    try {
      const body = await line.alive(this.#source.open(this.#cursor, line.signal).then(streamOf));
      if (body === undefined) return true;
      const bytes = body.getReader();
      this.#options.onState?.("live");
      const parser = new EventStreamParser();
      for (;;) {
        const { done, value } = await line.alive(bytes.read());
        if (done) return false;
        const frames = parser.push(value);
        this.#suggested = parser.retry ?? this.#suggested;
        for (const frame of frames) {
          const received = this.#take(frame);
          if (received === undefined) continue;
          yield received;
          this.#options.signal?.throwIfAborted(); // whoever aborted it wants nothing of what is here already
          if (this.#source.isLast(received.event)) return true;
        }
      }
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      this.#error = passing(error);
      if (error instanceof SignoffError) this.#suggested = error.retryAfter ?? this.#suggested;
      return false;
    } finally {
      line.hangUp();
    }
  }

  /** Waits between two connections, or throws after too many failures. */
  async pause(): Promise<void> {
    const { signal, onState, maxFailures, backoff: chosen = backoff } = this.#options;
    if (this.#failures >= (maxFailures ?? Infinity)) throw this.#error ?? SignoffError.unreachable(undefined);
    const wait = chosen(this.#suggested, this.#failures);
    this.#suggested = undefined; // it was about this pause
    onState?.("reconnecting", { error: this.#error, failures: this.#failures, wait });
    await sleep(wait, signal);
  }

  #take(frame: Frame): Received<E> | undefined {
    this.#failures = 0;
    if (frame.event === "stream.synced") this.#options.onSynced?.();
    if (frame.id === undefined) return undefined; // a mark, not a fact
    const event = parse<E>(frame.data);
    if (!this.#source.isNew(event, frame.id)) return undefined;
    this.#cursor = frame.id;
    return { cursor: frame.id, event, line: frame.data };
  }
}

/** The log of one execution: 1, 2, 3 … */
export function oneLog(after: number): Pick<Source, "isNew" | "isLast"> {
  let last = after;
  return {
    isNew(event, cursor) {
      if (cursor !== String(event.seq)) throw new StreamError("malformed", `Event ${event.seq} came with the id ${cursor}.`);
      if (event.seq <= last) return false;
      if (event.seq !== last + 1) throw hole(`Event ${event.seq}`, last);
      last = event.seq;
      return true;
    },
    isLast: (event) => terminal.has(event.type),
  };
}

/** How many executions a merged feed remembers. Older ones have ended, or are quiet. */
const remembered = 10_000;

/** The logs of many executions, merged: each is 1, 2, 3 …, seen from where the reader came in. It has no end. */
export function manyLogs(): Pick<Source<FeedEvent>, "isNew" | "isLast"> {
  const last = new Map<string, number>(); // the one that spoke last stands last
  return {
    isNew(event) {
      if (typeof event.executionId !== "string") throw new StreamError("malformed", "An event does not say whose it is.");
      const before = last.get(event.executionId);
      if (before !== undefined && event.seq <= before) return false;
      if (before !== undefined && event.seq !== before + 1) throw hole(`Event ${event.seq} of ${event.executionId}`, before);
      last.delete(event.executionId);
      last.set(event.executionId, event.seq);
      if (last.size > remembered) last.delete(last.keys().next().value!);
      return true;
    },
    isLast: () => false,
  };
}

const terminal: ReadonlySet<string> = new Set([
  "execution.completed",
  "execution.failed",
  "execution.cancelled",
  "execution.timedOut",
]);

function hole(event: string, last: number): StreamError {
  return new StreamError("hole", `${event} came after event ${last}.`);
}

/**
 * Returns why a connection ended if another one may succeed. It throws all other errors: those that the server refused for good, protocol
 * errors, and errors of a callback, which another connection would only repeat.
 */
function passing(error: unknown): unknown {
  if (error instanceof Lost) return error.cause;
  if (error instanceof SignoffError && error.temporary) return error;
  throw error;
}

/** The stream of an answer; undefined if the reader has everything already. */
async function streamOf(response: Response): Promise<ReadableStream<Uint8Array> | undefined> {
  if (response.status === 204) return undefined;
  if (!response.ok) throw await SignoffError.from(response);
  const type = response.headers.get("Content-Type") ?? "nothing";
  if (!type.startsWith("text/event-stream") || response.body === null) {
    throw new StreamError("notAStream", `A stream was asked for, and ${type} came.`);
  }
  return response.body;
}

function parse<E extends Event>(data: string): E {
  let event: Partial<Event> | null;
  try {
    event = JSON.parse(data);
  } catch (error) {
    throw new StreamError("malformed", "A frame is not JSON.", error);
  }
  if (!Number.isSafeInteger(event?.seq) || typeof event?.type !== "string") {
    throw new StreamError("malformed", "A frame is not an event.");
  }
  return event as E;
}

/** A connection that broke. */
class Lost {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/**
 * One connection, watched for silence. A connection whose other end has vanished stays silent for ever: a laptop that
 * slept, a router that forgot it. So bytes must come in time, or the connection is closed.
 */
class Line {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #silence: number;
  readonly #stop = () => this.#controller.abort(this.#outer?.reason);

  constructor(outer: AbortSignal | undefined, silence: number) {
    this.#outer = outer;
    this.#silence = silence;
    if (outer?.aborted) this.#stop();
    outer?.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the next bytes. The time that the reader itself takes does not count. */
  async alive<T>(sign: Promise<T>): Promise<T> {
    const giveUp = () => this.#controller.abort(new Error(`Nothing came for ${this.#silence} ms.`));
    const timer = setTimeout(giveUp, this.#silence);
    try {
      return await sign;
    } catch (error) {
      if (error instanceof SignoffError || error instanceof StreamError) throw error;
      throw new Lost(this.signal.aborted ? this.signal.reason : error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the connection; without that, a reader that leaves early would hold it open. */
  hangUp(): void {
    this.#outer?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }
}
