import type { components } from "./schema.js";

/** All nouns of the contract, by their names in api/openapi.yaml. */
export type Schemas = components["schemas"];

export type AcceptGeneration = Schemas["AcceptGeneration"];
export type Agent = Schemas["Agent"];
export type AgentProfile = Schemas["AgentProfile"];
export type AgentProfileDefinition = Schemas["AgentProfileDefinition"];
export type Approval = Schemas["Approval"];
export type ApprovalEnvironment = Schemas["ApprovalEnvironment"];
export type ApprovalStatus = Schemas["ApprovalStatus"];
export type BlockType = Schemas["BlockType"];
export type Budget = Schemas["Budget"];
export type CheckpointCreated = Schemas["CheckpointCreated"];
export type CheckpointMode = Schemas["CheckpointMode"];
export type CheckpointPage = Schemas["CheckpointPage"];
export type ClientCall = Schemas["ClientCall"];
export type CreateExecution = Schemas["CreateExecution"];
export type Decide = Schemas["Decide"];
/** A step of the path from a root to an execution below it. */
export type DelegationStep = Schemas["DelegationStep"];
export type Diff = Schemas["Diff"];
export type EditGeneration = Schemas["EditGeneration"];
export type Environment = Schemas["Environment"];
export type EnvironmentChoice = Schemas["EnvironmentChoice"];
export type Execution = Schemas["Execution"];
export type ExecutionStatus = Schemas["ExecutionStatus"];
export type GeneratedBlock = Schemas["GeneratedBlock"];
export type Generation = Schemas["Generation"];
export type GenerationHistory = Schemas["GenerationHistory"];
export type GenerationSummary = Schemas["GenerationSummary"];
export type InterruptCause = Schemas["InterruptCause"];
export type Item = Schemas["Item"];
/** A child as the item of a call shows it. */
export type ItemChild = Schemas["ItemChild"];
export type ItemList = Schemas["ItemList"];
export type McpServer = Schemas["McpServer"];
export type Problem = Schemas["Problem"];
export type ProblemDetail = Schemas["ProblemDetail"];
export type Prompt = Schemas["Prompt"];
export type PromptPart = Schemas["PromptPart"];
export type PromptExecution = Schemas["PromptExecution"];
export type RenderTemplate = Schemas["RenderTemplate"];
export type RenderedMcpPrompt = Schemas["RenderedMcpPrompt"];
export type RenderedTemplate = Schemas["RenderedTemplate"];
export type ResumeExecution = Schemas["ResumeExecution"];
export type Rollback = Schemas["Rollback"];
export type RollbackPlan = Schemas["RollbackPlan"];
/** What a rollback is confined to, or extended by: `paths` alone, or with `tree` the changes of the execution's children, too. */
export interface RollbackScope {
  paths?: string[];
  tree?: boolean;
}
export type RunbookDocument = Schemas["RunbookDocument"];
export type Settings = Schemas["Settings"];
export type ToolResult = Schemas["ToolResult"];
/** A picture or file as the server has it; `File` is the browser's. */
export type UploadedFile = Schemas["File"];
export type WorkspaceFetch = Schemas["WorkspaceFetch"];

/**
 * One fact in the log of an execution; `type` gives the shape of its `data`. The list of types is open: a newer server may
 * send others, so a `switch` needs a `default` that ignores them.
 */
export type Event = Schemas["Event"];
/** An event of the feed, which names its execution. */
export type FeedEvent = Schemas["FeedEvent"];
export type EventType = Event["type"];

/** A page of a list. `nextCursor` is null on the last one. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}
