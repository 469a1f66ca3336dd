import type { components } from "./schema.js";

/** All nouns of the contract, by their names in api/openapi.yaml. */
export type Schemas = components["schemas"];

export type Approval = Schemas["Approval"];
export type ApprovalStatus = Schemas["ApprovalStatus"];
export type CreateExecution = Schemas["CreateExecution"];
export type Decide = Schemas["Decide"];
export type Execution = Schemas["Execution"];
export type ExecutionStatus = Schemas["ExecutionStatus"];
export type Problem = Schemas["Problem"];
export type ProblemDetail = Schemas["ProblemDetail"];
export type Prompt = Schemas["Prompt"];
export type PromptExecution = Schemas["PromptExecution"];

/**
 * One fact in the log of an execution; `type` tells what its `data` is. The list of types is open: a newer server may
 * send others, so a `switch` needs a `default` that passes them over.
 */
export type Event = Schemas["Event"];
export type EventType = Event["type"];

/** A page of a list. `nextCursor` is null on the last one. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}
