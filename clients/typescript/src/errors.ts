import type { Approval, ClientCall, Execution, GenerationSummary, Problem, ProblemDetail } from "./types.js";

/**
 * A failed request. The fields are those of the problem (RFC 9457) that Signoff sent; `code` is for programs
 * and `detail` for people.
 *
 * Two codes are the client's own: `unreachable`, with the status 0, if no answer came; and `notAProblem`, if
 * another program on the way answered.
 */
export class SignoffError extends Error {
  override readonly name = "SignoffError";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** Each wrong part of the input. */
  readonly errors: readonly ProblemDetail[];
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;
  /** How long to wait before the next request, in milliseconds. */
  readonly retryAfter: number | undefined;
  /** On conflicts, the current state. */
  readonly approval: Approval | undefined;
  readonly execution: Execution | undefined;
  readonly generation: GenerationSummary | undefined;
  readonly toolCall: ClientCall | undefined;
  /** The whole problem, including fields that have no name here. */
  readonly problem: Partial<Problem> & Record<string, unknown>;

  constructor(
    status: number,
    problem: Partial<Problem> & Record<string, unknown>,
    more: { retryAfter?: number | undefined; requestId?: string | undefined; cause?: unknown } = {},
  ) {
    const code = problem.code ?? (status === 0 ? "unreachable" : "notAProblem");
    const title = problem.title ?? `HTTP ${status}`;
    super(`${problem.detail ?? title} (${code})`, more.cause === undefined ? undefined : { cause: more.cause });
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = problem.detail ?? title;
    this.errors = problem.errors ?? [];
    this.requestId = problem.requestId ?? more.requestId;
    this.retryAfter = more.retryAfter;
    this.approval = problem.approval;
    this.execution = problem.execution;
    this.generation = problem.generation;
    this.toolCall = problem.toolCall;
    this.problem = problem;
  }

  /** Whether the same request may succeed later: no answer came, or the server was too busy. */
  get temporary(): boolean {
    return [0, 408, 425, 429, 500, 502, 503, 504].includes(this.status);
  }

  /** Reads the error from an answer. It never throws: an unreadable answer is `notAProblem`. */
  static async from(response: Response): Promise<SignoffError> {
    const problem = isProblem(response) ? await response.json().catch(() => ({})) : {};
    if (response.body !== null && !response.bodyUsed) await response.body.cancel().catch(() => {});
    return new SignoffError(response.status, isObject(problem) ? problem : {}, {
      retryAfter: wait(response.headers.get("Retry-After")),
      requestId: response.headers.get("X-Request-Id") ?? undefined,
    });
  }

  static unreachable(cause: unknown): SignoffError {
    return new SignoffError(0, { title: "No answer", detail: "The server cannot be reached." }, { cause });
  }
}

/** A stream that contradicts itself. Reading on would hide a missing event. */
export class StreamError extends Error {
  override readonly name = "StreamError";
  /** `hole`: an event is missing. `malformed`: a frame that Signoff does not send. `notAStream`: another program answered. */
  readonly code: "hole" | "malformed" | "notAStream";

  constructor(code: "hole" | "malformed" | "notAStream", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

function isProblem(response: Response): boolean {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/problem+json");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** wait reads Retry-After, which is a number of seconds or a date. */
function wait(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^[0-9]+$/.test(header)) return Number(header) * 1000;
  const until = Date.parse(header);
  return Number.isNaN(until) ? undefined : Math.max(0, until - Date.now());
}
