import { Signoff, type BlockType } from "@signoff/client";
import { GenerationFlow, type State } from "./flow.js";
import { isBlank, Runbook, type Block } from "./runbook.js";

// The page: blocks are drawn, keys are read. What a model wrote is only ever set as text.

const blockTypes: BlockType[] = [
  {
    type: "text",
    description: "A paragraph for people.",
    propsSchema: { type: "object", required: ["text"], properties: { text: { type: "string" } } },
  },
  {
    type: "script",
    description: "A shell script, and what it is for.",
    propsSchema: {
      type: "object",
      required: ["name", "code"],
      properties: { name: { type: "string" }, code: { type: "string" } },
    },
  },
];

const part = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;

const runbook = new Runbook("disks", draw);
const flow = new GenerationFlow({
  signoff: new Signoff({ baseUrl: "/api" }), // the proxy adds the key
  runbook,
  blockTypes,
  onState: show,
  onError: (text) => (part("error").textContent = text),
  onProgress: (text) => (part("progress").textContent = (part("progress").textContent + text).slice(-400)),
  follow: { onState: (state) => (part("connection").textContent = state) },
});

// ——— what is shown ———

/** Draws what is new. What is there already stays as it is, with the text and the cursor of whoever types in it. */
function draw(): void {
  const shown = part("blocks");
  const focused = document.activeElement as HTMLElement | null;
  const drawn = new Map(Array.from(shown.children, (box) => [key((box as HTMLElement).dataset["id"]!, box.className), box]));
  shown.replaceChildren(...runbook.blocks.map((block) => drawn.get(key(block.id, look(block))) ?? element(block)));
  if (focused !== null && shown.contains(focused)) focused.focus();
}

function key(id: string, look: string): string {
  return `${id} ${look}`;
}

function look(block: Block): string {
  return block.proposed ? "block proposed" : "block";
}

function element(block: Block): HTMLElement {
  const box = document.createElement("section");
  box.className = look(block);
  box.dataset["id"] = block.id;
  const type = document.createElement("div");
  type.className = "type";
  type.textContent = block.proposed ? `${block.type} · proposed` : block.type;
  box.append(type, ...(block.type === "prompt" ? promptOf(block) : [contentOf(block)]));
  return box;
}

function contentOf({ props }: Block): HTMLElement {
  const content = document.createElement("pre");
  content.textContent = ["name", "text", "code"].flatMap((name) => (name in props ? [String(props[name])] : [])).join("\n");
  if (content.textContent === "") content.textContent = JSON.stringify(props, null, 2);
  return content;
}

function promptOf(block: Block): HTMLElement[] {
  const text = document.createElement("textarea");
  text.value = String(block.props["text"]);
  text.addEventListener("input", () => runbook.change(block.id, { text: text.value }));
  const button = document.createElement("button");
  button.textContent = "Generate";
  const generate = () => void flow.generate(block.id);
  button.addEventListener("click", generate);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) generate();
  });
  return [text, button];
}

const keys: Record<State["status"], string> = {
  idle: "Ctrl+Enter in a prompt generates blocks · Ctrl+K opens an empty prompt.",
  generating: "Escape stops it.",
  cancelled: "Cancelled. Ctrl+Enter in a prompt generates blocks · Ctrl+K opens an empty prompt.",
  postGeneration: "Tab accepts · E edits · Escape takes the blocks away",
  editing: "Enter asks for the change · Escape closes the field",
  submittingEdit: "Escape takes the blocks away.",
  interrupted: "R tries again · G gives up · Escape stops it.",
};

const keysOfInterruptedEdit = "R tries again · G gives the edit up and keeps the blocks · Escape takes the blocks away";

let status: State["status"] = "idle";

function show(state: State): void {
  if (state.status === "generating" || state.status === "submittingEdit") part("error").textContent = part("progress").textContent = "";
  part("keys").textContent = state.status === "interrupted" && state.proposed ? keysOfInterruptedEdit : keys[state.status];
  document.body.dataset["status"] = state.status;
  part("edit").hidden = state.status !== "editing";
  if (state.status === "editing" && status !== "editing") {
    part<HTMLInputElement>("text").value = state.text;
    part("text").focus();
  } else if (state.status === "postGeneration" || state.status === "interrupted") {
    (document.activeElement as HTMLElement | null)?.blur(); // so that E is a key and not a letter
  }
  status = state.status;
}

// ——— what is typed ———

part("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  void flow.submitEdit();
});
part("text").addEventListener("input", () => flow.edit(part<HTMLInputElement>("text").value));

/** Opens a prompt to type into. It is a block like any other prompt, so Ctrl+Enter in it does the same. An empty one is not opened twice. */
function openPrompt(): void {
  const { id } = runbook.blocks.find(isBlank) ?? runbook.add("prompt", { text: "" });
  part("blocks").querySelector<HTMLElement>(`[data-id="${id}"] textarea`)?.focus();
}

const acts: Partial<Record<State["status"], Record<string, () => void>>> = {
  postGeneration: { tab: () => void flow.accept(), e: () => flow.edit() },
  interrupted: { r: () => void flow.retry(), g: () => void flow.giveUp() },
};

/** The prompt without a text in which the cursor is. */
function blankPrompt(target: EventTarget | null): Block | undefined {
  const id = (target as HTMLElement).closest<HTMLElement>("[data-id]")?.dataset["id"];
  const block = id === undefined ? undefined : runbook.find(id);
  return block !== undefined && isBlank(block) ? block : undefined;
}

document.addEventListener("keydown", (event) => {
  const blank = blankPrompt(event.target);
  if (event.key === "Escape") return blank === undefined ? flow.cancel() : runbook.remove(blank.id);
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault(); // the browser would go to its address bar
    return openPrompt();
  }
  const typing = (event.target as HTMLElement).closest("textarea, input") !== null;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || (typing && (blank === undefined || event.key !== "Tab"))) return;
  const act = acts[flow.state.status]?.[event.key.toLowerCase()];
  if (act === undefined) return;
  act();
  event.preventDefault();
});

runbook.add("text", { text: "What to do when a disk is full." });
runbook.add("prompt", { text: "Show how full the disks are, and the ten largest folders." });
show(flow.state);
