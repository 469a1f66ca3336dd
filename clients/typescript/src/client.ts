import { manyLogs, oneLog, readEvents, type FollowOptions, type Received } from "./events.js";
import { Transport, type Call, type ClientOptions } from "./http.js";
import type {
  AcceptGeneration,
  Agent,
  AgentProfile,
  AgentProfileDefinition,
  Approval,
  ApprovalStatus,
  CheckpointPage,
  ClientCall,
  CreateExecution,
  Decide,
  Diff,
  EditGeneration,
  Environment,
  Event,
  FeedEvent,
  Execution,
  ExecutionStatus,
  Generation,
  GenerationHistory,
  ItemList,
  McpServer,
  Page,
  Prompt,
  PromptExecution,
  RenderTemplate,
  RenderedMcpPrompt,
  RenderedTemplate,
  ResumeExecution,
  Rollback,
  RollbackPlan,
  RollbackScope,
  Schemas,
  Settings,
  ToolResult,
  UploadedFile,
  WorkspaceFetch,
} from "./types.js";

/** Options that every call takes beside its own arguments. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Options of a call that creates something. */
export interface MakeOptions extends CallOptions {
  /**
   * Calls with the same key create one thing only. Without it each call has a new key, so that the client can repeat a request whose
   * answer was lost. Give your own if a reload of the page must not create a second one.
   */
  idempotencyKey?: string | undefined;
}

/** A client of one Signoff, with one key. It holds no connection and needs no closing. */
export class Signoff {
  readonly #http: Transport;

  constructor(options: ClientOptions) {
    this.#http = new Transport(options);
  }

  // ——— executions ———

  /** Creates an execution and starts it. With `waitSeconds` the answer waits up to that long for its end. */
  createExecution(body: CreateExecution, options: MakeOptions & { waitSeconds?: number } = {}): Promise<Execution> {
    return this.#make("/executions", body, options, preferring(options));
  }

  getExecution(id: string, options: CallOptions & { waitSeconds?: number } = {}): Promise<Execution> {
    return this.#get(`/executions/${part(id)}`, { wait: options.waitSeconds }, options);
  }

  listExecutions(options: CallOptions & { status?: ExecutionStatus[]; cursor?: string; limit?: number } = {}): Promise<Page<Execution>> {
    const { status, cursor, limit } = options;
    return this.#get("/executions", { status, cursor, limit }, options);
  }

  /** Cancels an execution. The answer shows it while it stops; with `waitSeconds` it waits up to that long for the end. */
  cancelExecution(id: string, options: CallOptions & { reason?: string; waitSeconds?: number } = {}): Promise<Execution> {
    const body = options.reason === undefined ? {} : { reason: options.reason };
    return this.#post(`/executions/${part(id)}/cancel`, body, options, preferring(options));
  }

  /** The executions that closing this one now would cancel. */
  async previewClose(id: string, options: CallOptions = {}): Promise<Execution[]> {
    const { cancels } = await this.#get<Schemas["ClosePreview"]>(`/executions/${part(id)}/close`, {}, options);
    return cancels;
  }

  /** Closes an execution: it takes no further prompts, finishes the queued ones and is completed. With `waitSeconds` the answer waits up to that long. */
  closeExecution(id: string, options: CallOptions & { waitSeconds?: number } = {}): Promise<Execution> {
    return this.#post(`/executions/${part(id)}/close`, undefined, options, preferring(options));
  }

  /**
   * Chooses how an `interrupted` execution goes on; the possible choices depend on its `cause`. The same choice again changes
   * nothing. If there is no choice any more, the error's `execution` shows its state.
   */
  resumeExecution(id: string, choice: ResumeExecution, options: CallOptions = {}): Promise<Execution> {
    return this.#post(`/executions/${part(id)}/resume`, choice, options);
  }

  /**
   * Deletes an execution. When the promise resolves, no request shows it any more. With `wait`, up to 60 seconds, it resolves when all its rows
   * are removed, or when that time is over.
   */
  async deleteExecution(id: string, options: CallOptions & { wait?: number } = {}): Promise<void> {
    const headers = options.wait === undefined ? {} : { Prefer: `wait=${options.wait}` };
    await this.#http.once({ method: "DELETE", path: `/executions/${part(id)}`, headers, signal: options.signal });
  }

  /** Sends a further prompt to an execution that is open. */
  prompt(id: string, body: PromptExecution, options: MakeOptions = {}): Promise<Prompt> {
    return this.#make(`/executions/${part(id)}/prompts`, body, options);
  }

  /**
   * Sends a picture or file, whose `id` goes into a part of a prompt: `prompt: [{ type: "image", fileId: id }]`. An upload that no execution uses is
   * removed after a day.
   */
  upload(content: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, options: CallOptions & { name?: string } = {}): Promise<UploadedFile> {
    return this.#http.json({ method: "POST", path: "/files", query: { name: options.name }, bytes: content, signal: options.signal });
  }

  /** The bytes of a picture or file that an execution uses. */
  file(id: string, fileId: string, options: CallOptions = {}): Promise<Blob> {
    return this.#http.blob({ method: "GET", path: `/executions/${part(id)}/files/${part(fileId)}`, signal: options.signal });
  }

  /**
   * A page of the execution as a conversation: messages, reasoning, tools, diffs, blocks. Send `nextCursor` back as `after` until it is
   * null, and follow the events after `lastSeq`.
   */
  items(id: string, options: CallOptions & { after?: string; limit?: number } = {}): Promise<ItemList> {
    const { after, limit } = options;
    return this.#get(`/executions/${part(id)}/items`, { after, limit }, options);
  }

  /** A page of the checkpoints of the execution: each with the changes on disk since the one before, or the reason why it failed. */
  checkpoints(id: string, options: CallOptions & { after?: string; limit?: number } = {}): Promise<CheckpointPage> {
    const { after, limit } = options;
    return this.#get(`/executions/${part(id)}/checkpoints`, { after, limit }, options);
  }

  /** The differences of the folders on disk between two checkpoints, of a turn or of a call; by default between the first checkpoint and the last one. */
  diff(id: string, options: CallOptions & { from?: number; to?: number; turn?: number; toolCallId?: string } = {}): Promise<Diff> {
    const { from, to, turn, toolCallId } = options;
    return this.#get(`/executions/${part(id)}/diff`, { from, to, turn, toolCallId }, options);
  }

  /** Previews a rollback to a checkpoint: the paths that would go back, and those that would stay, with the reason. Show it, and send its `hash` with `rollBack`. */
  previewRollback(id: string, to: number, options: CallOptions & RollbackScope = {}): Promise<RollbackPlan> {
    const { paths, tree } = options;
    return this.#post(`/executions/${part(id)}/rollback`, { to, paths, tree, dryRun: true }, options);
  }

  /**
   * Takes the files of an execution back to a checkpoint, with the `hash` of the preview and the same `paths` and `tree`. If the rollback would no longer do what the
   * preview has shown, the error has the code `previewOutdated`, and no file changes. After half a minute the answer is a rollback that still runs: `rollbacks` has its
   * end later. The client sends the request once.
   */
  rollBack(id: string, to: number, hash: string, options: CallOptions & RollbackScope = {}): Promise<Rollback> {
    const { paths, tree } = options;
    return this.#http.once({ method: "POST", path: `/executions/${part(id)}/rollback`, body: { to, paths, tree, hash }, signal: options.signal });
  }

  /** The rollbacks of the execution, the oldest first. */
  async rollbacks(id: string, options: CallOptions = {}): Promise<Rollback[]> {
    return (await this.#get<Schemas["RollbackList"]>(`/executions/${part(id)}/rollbacks`, {}, options)).items;
  }

  /** Previews `fetchWorkspace`: the commits of the branch in the clone of the execution, and the files that are in no commit. */
  previewFetch(id: string, options: CallOptions = {}): Promise<WorkspaceFetch> {
    return this.#post(`/executions/${part(id)}/workspace/fetch`, { dryRun: true }, options);
  }

  /** Fetches the branch of the execution's clone, up to the `commit` of the preview, into your repository. A second fetch of the same commit changes nothing. */
  fetchWorkspace(id: string, commit: string, options: CallOptions = {}): Promise<WorkspaceFetch> {
    return this.#post(`/executions/${part(id)}/workspace/fetch`, { commit }, options);
  }

  // ——— runbooks ———

  /** The names, defaults and types of blocks that requests can use. */
  settings(options: CallOptions = {}): Promise<Settings> {
    return this.#get("/settings", {}, options);
  }

  /** What commands can see of the machine, by name. `environment` of a request names one; one that is not `available` says why in `reason`. */
  async environments(options: CallOptions = {}): Promise<Environment[]> {
    return (await this.#get<Page<Environment>>("/environments", {}, options)).items;
  }

  /** An agent with its options. With a key with `executions:write` the server may start the agent for a moment to list them. */
  agent(name: string, options: CallOptions = {}): Promise<Agent> {
    return this.#get(`/agents/${part(name)}`, {}, options);
  }

  /** An MCP server with its tools and prompts. With a key that may use it, the server is asked for them. */
  mcpServer(name: string, options: CallOptions = {}): Promise<McpServer> {
    return this.#get(`/mcp-servers/${part(name)}`, {}, options);
  }

  /** Fills in a prompt of an MCP server; creates nothing. Show its `messages`, let a person edit them, and send them with `createExecution`. */
  renderMcpPrompt(server: string, prompt: string, args: Record<string, string> = {}, options: CallOptions = {}): Promise<RenderedMcpPrompt> {
    return this.#post(`/mcp-servers/${part(server)}/prompts/${part(prompt)}`, { arguments: args }, options);
  }

  // ——— agent profiles ———

  /** The named agents. `systemPrompt` and `outputSchema` are left out; `agentProfile` has them. */
  listAgentProfiles(options: CallOptions & { cursor?: string; limit?: number } = {}): Promise<Page<AgentProfile>> {
    const { cursor, limit } = options;
    return this.#get("/agent-profiles", { cursor, limit }, options);
  }

  /** A named agent in its newest version, or in an earlier one, which can be read although the profile is deleted. */
  agentProfile(name: string, options: CallOptions & { version?: number } = {}): Promise<AgentProfile> {
    return this.#get(`/agent-profiles/${part(name)}`, { version: options.version }, options);
  }

  /** Makes a named agent. A name that is taken is an error with the code `conflict`, also after a request whose answer was lost: it is sent once. */
  createAgentProfile(name: string, definition: AgentProfileDefinition, options: CallOptions = {}): Promise<AgentProfile> {
    return this.#http.once({ method: "POST", path: "/agent-profiles", body: { name, definition }, signal: options.signal });
  }

  /** Makes the next version of a named agent. If `version` is not the newest one any more, the error has the code `conflict`. */
  replaceAgentProfile(name: string, version: number, definition: AgentProfileDefinition, options: CallOptions = {}): Promise<AgentProfile> {
    const headers = { "If-Match": `"${version}"` };
    return this.#http.once({ method: "PUT", path: `/agent-profiles/${part(name)}`, body: { definition }, headers, signal: options.signal });
  }

  /** Hides a named agent: no request can use it any more. */
  async deleteAgentProfile(name: string, options: CallOptions = {}): Promise<void> {
    await this.#http.once({ method: "DELETE", path: `/agent-profiles/${part(name)}`, signal: options.signal });
  }

  // ——— templates, calls and blocks ———

  /** Renders a template; creates nothing. */
  renderTemplate(body: RenderTemplate, options: CallOptions = {}): Promise<RenderedTemplate> {
    return this.#post("/templates/render", body, options);
  }

  /** Sends the result of a call that the frontend runs. The first answer counts; the same again changes nothing. */
  toolResult(id: string, result: ToolResult, options: CallOptions = {}): Promise<ClientCall> {
    return this.#post(`/executions/${part(id)}/tool-results`, result, options);
  }

  /** The blocks that an execution has generated, in all their versions. */
  generation(id: string, options: CallOptions = {}): Promise<GenerationHistory> {
    return this.#get(`/executions/${part(id)}/generation`, {}, options);
  }

  /** Asks for changes of the generated blocks. They stay until `blocks.generated` brings new ones. */
  editGeneration(id: string, edit: EditGeneration, options: MakeOptions = {}): Promise<Prompt> {
    return this.#make(`/executions/${part(id)}/generation/edits`, edit, options);
  }

  /** Accepts the generated blocks, and the execution ends. To reject them, cancel it. */
  acceptGeneration(id: string, accepted: AcceptGeneration, options: CallOptions = {}): Promise<Generation> {
    return this.#post(`/executions/${part(id)}/generation/accept`, accepted, options);
  }

  // ——— approvals ———

  /** The inbox: the open approvals, or with `status` those of another status. */
  listApprovals(options: CallOptions & { status?: ApprovalStatus; cursor?: string; limit?: number } = {}): Promise<Page<Approval>> {
    const { status, cursor, limit } = options;
    return this.#get("/approvals", { status, cursor, limit }, options);
  }

  executionApprovals(id: string, options: CallOptions = {}): Promise<Page<Approval>> {
    return this.#get(`/executions/${part(id)}/approvals`, {}, options);
  }

  getApproval(id: string, options: CallOptions = {}): Promise<Approval> {
    return this.#get(`/approvals/${part(id)}`, {}, options);
  }

  /**
   * Approves or denies. Send the `argumentsHash` of the approval that the person saw: then only that call can
   * run. If another decision came first, the error's `approval` has it.
   */
  decide(id: string, decision: Decide, options: CallOptions = {}): Promise<Approval> {
    return this.#post(`/approvals/${part(id)}`, decision, options);
  }

  // ——— events ———

  /**
   * The events of an execution, from the first or from the one after `after`, live until the execution ends. A connection
   * that breaks is replaced; each event comes once, in order, and none is missing.
   */
  async *events(id: string, options: FollowOptions = {}): AsyncGenerator<Event, void, undefined> {
    for await (const { event } of this.received(id, options)) yield event;
  }

  /** The same, each event with the bytes that the server wrote. */
  received(id: string, options: FollowOptions = {}): AsyncGenerator<Received, void, undefined> {
    return readEvents({ open: this.#stream(`/executions/${part(id)}/events`), ...oneLog(Number(options.after ?? 0)) }, options);
  }

  /** One page of the log, without waiting for more. Send `nextCursor` as `after`; null is: no more for now. */
  eventPage(id: string, options: CallOptions & { after?: number | string; limit?: number } = {}): Promise<Page<Event>> {
    const { after, limit } = options;
    return this.#get(`/executions/${part(id)}/events`, { after, limit }, options);
  }

  /**
   * The events of all executions, merged, and never ending: from the first that there is, from the next one (`from: "now"`),
   * or from behind a cursor. Keep the `cursor` of the last event that you have processed. A browser opens at most six connections to a
   * server, so a page that shows many executions follows this one stream.
   */
  async *feed(options: FollowOptions & { from?: "start" | "now" } = {}): AsyncGenerator<Received<FeedEvent>, void, undefined> {
    const after = options.after ?? (options.from === "now" ? await this.#now(options.signal) : undefined);
    yield* readEvents({ open: this.#stream("/events"), ...manyLogs() }, { ...options, after });
  }

  /** The events of a root and of all executions below it, merged, until all of them have ended. `after` is a cursor of this stream. */
  tree(root: string, options: FollowOptions = {}): AsyncGenerator<Received<FeedEvent>, void, undefined> {
    return readEvents({ open: this.#stream(`/executions/${part(root)}/events?tree=true`), ...manyLogs() }, options);
  }

  /** The cursor of the newest event. A stream that begins there loses no event if its first connection breaks. */
  async #now(signal: AbortSignal | undefined): Promise<string | undefined> {
    const { cursor } = await this.#get<Schemas["FeedPage"]>("/events", { from: "now", limit: 1 }, { signal });
    return cursor ?? undefined;
  }

  // ——— how it is sent ———

  #get<T>(path: string, query: NonNullable<Call["query"]>, options: CallOptions): Promise<T> {
    return this.#http.json({ method: "GET", path, query, signal: options.signal });
  }

  /** Sends a request that does no harm twice. */
  #post<T>(path: string, body: unknown, options: CallOptions, headers: Record<string, string | undefined> = {}): Promise<T> {
    return this.#http.json({ method: "POST", path, body, headers, signal: options.signal });
  }

  /** Sends a request that would create two things if it were sent twice without a key. */
  #make<T>(path: string, body: unknown, options: MakeOptions, headers: Record<string, string | undefined> = {}): Promise<T> {
    const key = options.idempotencyKey ?? newKey();
    return this.#http.json({ method: "POST", path, body, headers: { ...headers, "Idempotency-Key": key }, signal: options.signal });
  }

  #stream(path: string) {
    return (cursor: string | undefined, signal: AbortSignal) =>
      this.#http.open({ method: "GET", path, headers: { Accept: "text/event-stream", "Last-Event-ID": cursor }, signal });
  }
}

/** The headers of a request that waits for an end. */
function preferring({ waitSeconds }: { waitSeconds?: number }): Record<string, string | undefined> {
  return { Prefer: waitSeconds === undefined ? undefined : `wait=${waitSeconds}` };
}

/** An id within a path. An id that would change the path is an error, and is not sent. */
function part(id: string): string {
  if (id === "" || id === "." || id === "..") throw new TypeError(`${JSON.stringify(id)} is no id.`);
  return encodeURIComponent(id);
}

/** 128 random bits. Pages that came over plain HTTP from another machine have no `crypto.randomUUID`. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
