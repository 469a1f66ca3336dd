import type { GeneratedBlock, RunbookDocument } from "@signoff/client";

/** A block of the runbook. What has been generated and not yet accepted is a proposal: it is shown and does not count. */
export interface Block {
  id: string;
  type: string;
  props: Record<string, unknown>;
  proposed: boolean;
}

/**
 * A runbook's document, as simple as can be. Its revision counts what changed its content; proposals do not, so that a
 * generation does not contradict itself, nor do prompts in which nobody has written anything.
 */
export class Runbook {
  #blocks: Block[] = [];
  #revision = 1;
  #ids = 0;
  readonly id: string;
  readonly #onChange: () => void;

  constructor(id: string, onChange: () => void = () => {}) {
    this.id = id;
    this.#onChange = onChange;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get revision(): string {
    return String(this.#revision);
  }

  /** What the agent is shown, and what the server compares later. */
  snapshot(): RunbookDocument {
    const blocks = this.#blocks.filter((block) => !block.proposed && !isBlank(block)).map(({ id, type, props }) => ({ id, type, props }));
    return { revision: this.revision, blocks };
  }

  find(id: string): Block | undefined {
    return this.#blocks.find((block) => block.id === id);
  }

  /** Adds a block at the end. */
  add(type: string, props: Record<string, unknown>): Block {
    const block = { id: this.#newID(), type, props, proposed: false };
    this.#blocks.push(block);
    this.#changed(!isBlank(block));
    return block;
  }

  /** Removes a block. */
  remove(id: string): void {
    const block = this.find(id);
    if (block === undefined) return;
    this.#blocks = this.#blocks.filter((other) => other !== block);
    this.#changed(!isBlank(block));
  }

  change(id: string, props: Record<string, unknown>): void {
    const block = this.find(id);
    if (block === undefined) return;
    block.props = props;
    this.#changed(true);
  }

  /** Shows blocks behind another one, in place of earlier proposals, and returns their ids. */
  propose(generated: readonly GeneratedBlock[], after: string, instead: readonly string[]): string[] {
    this.#blocks = this.#blocks.filter((block) => !instead.includes(block.id));
    const blocks = generated.map(({ type, props }) => ({ id: this.#newID(), type, props: props ?? {}, proposed: true }));
    this.#blocks.splice(this.#blocks.findIndex((block) => block.id === after) + 1, 0, ...blocks);
    this.#changed(false);
    return blocks.map((block) => block.id);
  }

  /** Takes proposals into the document. */
  keep(ids: readonly string[]): void {
    for (const block of this.#blocks) if (ids.includes(block.id)) block.proposed = false;
    this.#changed(true);
  }

  /** Takes proposals away. */
  drop(ids: readonly string[]): void {
    this.#blocks = this.#blocks.filter((block) => !ids.includes(block.id));
    this.#changed(false);
  }

  #newID(): string {
    return `b${++this.#ids}`;
  }

  #changed(content: boolean): void {
    if (content) this.#revision++;
    this.#onChange();
  }
}

/** Tells whether a block is a prompt without a text. */
export function isBlank({ type, props }: Block): boolean {
  return type === "prompt" && props["text"] === "";
}
