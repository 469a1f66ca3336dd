import { SignoffError, type BlockType, type Event, type FollowOptions, type Signoff } from "@signoff/client";
import type { Runbook } from "./runbook.js";

/** What is known of blocks that wait for somebody. */
interface Proposal {
  executionId: string;
  generation: number;
  toolCallId: string;
  blockIds: string[];
}

/** Where the generation of blocks is. */
export type State =
  | { status: "idle" }
  | { status: "generating"; promptBlockId: string; prompt: string; executionId?: string }
  | { status: "cancelled" }
  | ({ status: "postGeneration"; promptBlockId: string } & Proposal)
  | ({ status: "editing"; promptBlockId: string; text: string } & Proposal)
  | ({ status: "submittingEdit"; promptBlockId: string; text: string } & Proposal)
  /** It cannot go on by itself; `proposed` tells whether blocks of before are shown. A person chooses: retry, giveUp or cancel. */
  | { status: "interrupted"; promptBlockId: string; executionId: string; reason: string; proposed: boolean };

export interface FlowOptions {
  signoff: Signoff;
  runbook: Runbook;
  blockTypes: BlockType[];
  onState?: (state: State) => void;
  /** What a person should be told: the error of a generation, an edit or an acceptance. */
  onError?: (message: string, error: unknown) => void;
  /** What the agent does, while it does it. */
  onProgress?: (text: string) => void;
  follow?: FollowOptions;
}

/** For how long a model that does not answer is asked again before the person, who sits there and waits, chooses. */
const patienceSeconds = 60;

/**
 * Generates blocks behind a block of a runbook: a person writes a prompt, the blocks appear as proposals, and the person
 * accepts them, asks for changes, or has them taken away. One generation at a time; a new one ends the one before.
 *
 * Everything that happens comes from the stream of the execution, also what this flow itself asked for: a second window, a
 * colleague and a connection that was gone for a while are then no cases of their own.
 */
export class GenerationFlow {
  readonly #options: FlowOptions;
  #state: State = { status: "idle" };
  #run: Run | undefined;

  constructor(options: FlowOptions) {
    this.#options = options;
  }

  get state(): State {
    return this.#state;
  }

  /** Begins a generation with the text of a block. Blank text, and the same again while it runs, do nothing. */
  async generate(promptBlockId: string): Promise<void> {
    const prompt = String(this.#options.runbook.find(promptBlockId)?.props["text"] ?? "").trim();
    const { status } = this.#state;
    if (prompt === "" || (status === "generating" && this.#state.promptBlockId === promptBlockId && this.#state.prompt === prompt)) return;
    if (this.#run !== undefined) this.#leave(this.#run);
    const run: Run = { promptBlockId, prompt, left: new AbortController(), proposal: undefined, error: undefined };
    this.#run = run;
    this.#become({ status: "generating", promptBlockId, prompt });
    try {
      const { id } = await this.#create(run);
      if (run.left.signal.aborted) return this.#cancel(id); // it was cancelled before it had an id
      run.executionId = id;
      this.#become({ status: "generating", promptBlockId, prompt, executionId: id });
      await this.#follow(run, id);
    } catch (error) {
      if (this.#run === run) this.#fail(run, error);
    }
  }

  /** Takes the blocks into the runbook. */
  async accept(): Promise<void> {
    const state = this.#state;
    const run = this.#run;
    if (state.status !== "postGeneration" || run === undefined || run.accepting) return;
    const { signoff, runbook } = this.#options;
    run.accepting = true;
    try {
      await signoff.acceptGeneration(state.executionId, { generation: state.generation, documentRevision: runbook.revision });
      this.#keep(run);
    } catch (error) {
      run.accepting = false;
      this.#complain(error);
    }
  }

  /** Opens the field for what is to be changed, and takes what is typed there. */
  edit(text = ""): void {
    const state = this.#state;
    if (state.status === "postGeneration" || state.status === "editing") this.#become({ ...state, status: "editing", text });
  }

  /** Asks for the changes. The blocks stay until new ones come. */
  async submitEdit(): Promise<void> {
    const state = this.#state;
    if (state.status !== "editing" || state.text.trim() === "") return;
    const { signoff, runbook } = this.#options;
    const { executionId, generation, text } = state;
    if (this.#run !== undefined) this.#run.edit = text;
    this.#become({ ...state, status: "submittingEdit" });
    try {
      await signoff.editGeneration(executionId, { text, generation, document: runbook.snapshot() });
    } catch (error) {
      if (this.#state.status === "submittingEdit" && this.#state.executionId === executionId) this.#become(state);
      this.#complain(error);
    }
  }

  /** After an interruption: repeats the request to the model that failed. */
  retry(): Promise<void> {
    return this.#resume("retry");
  }

  /** After an interruption: ends the edit, and the blocks are as they were. Where there are none yet, the generation has failed. */
  giveUp(): Promise<void> {
    return this.#resume("fail");
  }

  /** Takes the blocks away, or stops what would bring them. In the field for changes it only closes the field. */
  cancel(): void {
    const state = this.#state;
    if (state.status === "editing") {
      const { text: _, ...rest } = state;
      this.#become({ ...rest, status: "postGeneration" });
    } else if (this.#run !== undefined) {
      this.#leave(this.#run);
      this.#become({ status: "cancelled" });
    }
  }

  // ——— what comes from the server ———

  #create(run: Run) {
    const { signoff, runbook, blockTypes } = this.#options;
    return signoff.createExecution({
      kind: "inlineBlockGeneration",
      source: { type: "internal" },
      prompt: run.prompt,
      runbookId: runbook.id,
      document: runbook.snapshot(),
      insertAfter: run.promptBlockId,
      blockTypes,
      retry: { forSeconds: patienceSeconds },
    });
  }

  async #follow(run: Run, id: string): Promise<void> {
    for await (const event of this.#options.signoff.events(id, { ...this.#options.follow, signal: run.left.signal })) this.#take(run, id, event);
  }

  #take(run: Run, executionId: string, event: Event): void {
    switch (event.type) {
      case "thought.delta":
      case "message.delta":
        return this.#options.onProgress?.(event.data.text);
      case "toolCall.requested":
        return this.#options.onProgress?.(event.data.summary);
      case "model.retrying":
        return this.#options.onProgress?.(`${event.data.message} Trying again. `);
      case "blocks.generated":
        return this.#propose(run, executionId, event);
      case "turn.ended":
        run.error = event.data.error;
        return;
      case "execution.stateChanged":
        if (event.data.to === "idle") this.#rest(run);
        else if (event.data.to === "interrupted") this.#interrupt(run, executionId, event);
        else if (event.data.from === "interrupted") this.#goOn(run, executionId); // perhaps somebody else had it retried
        return;
      case "blocks.accepted":
        return this.#keep(run); // perhaps somebody else did
      case "execution.completed":
      case "execution.cancelled":
        return this.#end(run);
      case "execution.failed":
      case "execution.timedOut":
        return this.#fail(run, event.data.error);
    }
  }

  /** Blocks are shown as soon as they come, in place of earlier ones. */
  #propose(run: Run, executionId: string, event: Extract<Event, { type: "blocks.generated" }>): void {
    const { generation, toolCallId, blocks } = event.data;
    const blockIds = this.#options.runbook.propose(blocks, run.promptBlockId, run.proposal?.blockIds ?? []);
    run.proposal = { executionId, generation, toolCallId, blockIds };
  }

  /** The agent has done its part: now blocks can be accepted. An edit that failed has left the earlier ones. */
  #rest(run: Run): void {
    if (run.proposal === undefined) return;
    this.#become({ status: "postGeneration", promptBlockId: run.promptBlockId, ...run.proposal });
    if (run.error !== undefined) this.#complainOfEnd(run.error);
    run.error = undefined;
  }

  /** Nothing is lost: the blocks stay, and so does the edit, until a person has chosen. */
  #interrupt(run: Run, executionId: string, event: Extract<Event, { type: "execution.stateChanged" }>): void {
    const { reason = "The execution cannot go on by itself.", code } = event.data;
    const { promptBlockId, proposal } = run;
    this.#become({ status: "interrupted", promptBlockId, executionId, reason, proposed: proposal !== undefined });
    this.#complain({ code, message: reason });
  }

  #goOn(run: Run, executionId: string): void {
    const { promptBlockId, prompt, proposal, edit = "" } = run;
    if (proposal === undefined) this.#become({ status: "generating", promptBlockId, prompt, executionId });
    else this.#become({ status: "submittingEdit", promptBlockId, text: edit, ...proposal });
  }

  #keep(run: Run): void {
    if (this.#run !== run) return;
    this.#options.runbook.keep(run.proposal?.blockIds ?? []);
    this.#run = undefined;
    run.left.abort(); // the rest of its stream tells nothing new, and would be followed as long as the server is away
    this.#become({ status: "idle" });
  }

  /** It ended without being accepted: somebody else cancelled it, or nobody came for too long. */
  #end(run: Run): void {
    if (this.#run !== run) return;
    this.#discard(run);
    this.#become({ status: "cancelled" });
  }

  #fail(run: Run, error: unknown): void {
    if (this.#run !== run) return;
    this.#discard(run);
    this.#become({ status: "idle" });
    this.#complainOfEnd(error);
  }

  // ——— what goes to the server ———

  /** The state changes when the stream tells that the choice has taken effect. */
  async #resume(mode: "retry" | "fail"): Promise<void> {
    const state = this.#state;
    if (state.status !== "interrupted") return;
    try {
      await this.#options.signoff.resumeExecution(state.executionId, { mode });
    } catch (error) {
      if (!(error instanceof SignoffError && error.code === "notInterrupted")) this.#complain(error); // somebody else chose before
    }
  }

  /** Ends a generation that nobody wants any more. The page does not wait for that. */
  #leave(run: Run): void {
    this.#discard(run);
    run.left.abort();
    if (run.executionId !== undefined) void this.#cancel(run.executionId);
  }

  async #cancel(id: string): Promise<void> {
    try {
      await this.#options.signoff.cancelExecution(id);
    } catch (error) {
      if (!(error instanceof SignoffError && error.status === 409)) this.#complain(error); // 409: it had ended already
    }
  }

  #discard(run: Run): void {
    if (run.proposal !== undefined) this.#options.runbook.drop(run.proposal.blockIds);
    if (this.#run === run) this.#run = undefined;
  }

  #become(state: State): void {
    this.#state = state;
    this.#options.onState?.(state);
  }

  /** An end that somebody chose after an interruption is no news: the interruption itself was told. */
  #complainOfEnd(error: unknown): void {
    if ((error as { code?: unknown } | undefined)?.code !== "interrupted") this.#complain(error);
  }

  #complain(error: unknown): void {
    this.#options.onError?.(message(error), error);
  }
}

/** One generation, from its prompt to its end. */
interface Run {
  promptBlockId: string;
  prompt: string;
  executionId?: string;
  proposal: Proposal | undefined;
  /** The changes that were asked for last. */
  edit?: string;
  /** Why its last turn broke down. */
  error: unknown;
  /** Nobody is interested any more. */
  left: AbortController;
  accepting?: boolean;
}

/** What a person should read of an error. */
function message(error: unknown): string {
  if (error instanceof SignoffError) {
    if (error.code === "documentChanged") return "The runbook has changed since. Ask for an edit, and the blocks are adapted to it.";
    return [error.detail, ...error.errors.map((one) => `${one.pointer} ${one.message}`)].join(" ");
  }
  if (typeof error === "object" && error !== null && "message" in error) return String(error.message);
  return String(error);
}
