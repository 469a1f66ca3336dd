export { Signoff, type CallOptions, type MakeOptions } from "./client.js";
export { SignoffError, StreamError } from "./errors.js";
export { readEvents, oneLog, manyLogs, type Broken, type FollowOptions, type Received, type Source, type StreamState } from "./events.js";
export type { ClientOptions } from "./http.js";
export { EventStreamParser, type Frame } from "./sse.js";
export type * from "./types.js";
export type { components, operations, paths } from "./schema.js";
