// The tree of executions that one belongs to, beside its conversation: who works, on what, what it has used, and whose questions wait. The stream of an
// execution tells of its own children alone, so the whole is read from the server, again and again while somebody may see it.

import { executionPath, get, sleep } from "./api.js";
import { attribute, h, keyed, say } from "./dom.js";
import { amount, approvalsWait, cost, ended, plural, words } from "./format.js";
import { revealed } from "./reveal.js";
import { once } from "./rowparts.js";

const readEvery = 3000;

/** A line with the sums, which opens. */
export class Tree {
  #sums = h("span");
  #list = h("ul", { class: "children tree", "aria-label": "Agents of this tree" });
  element = h("details", { class: "settings card", hidden: true }, h("summary", {}, "Agents of this tree: ", this.#sums), this.#list);

  /** @param execution of the page, by which the root is known @param steady draws without moving what a person reads */
  constructor(execution, steady) {
    this.steady = steady;
    this.here = execution.id;
    this.root = execution.parent?.root ?? execution.id;
    this.hasTree = Boolean(execution.parent ?? execution.delegation);
  }

  /** Shows the tree until it has ended, or the page is left. */
  async follow(signal) {
    while (this.hasTree && !signal.aborted) {
      try {
        if (document.visibilityState === "visible") {
          const tree = await get(`${executionPath(this.root)}/tree`, {}, { signal });
          this.steady(() => this.show(tree));
        }
        if (this.hasEnded) return;
        await sleep(readEvery, signal);
      } catch (problem) {
        if (signal.aborted || problem.status === 404) return; // deleted
        await sleep(readEvery, signal).catch(() => {});
      }
    }
  }

  show({ items, usage }) {
    this.hasEnded = items.every(({ status }) => ended.includes(status));
    attribute(this.element, "hidden", items.length < 2);
    if (items.length < 2) return;
    const atWork = items.filter(({ status }) => !ended.includes(status) && status !== "idle").length;
    const questions = items.reduce((sum, { pendingApprovals }) => sum + pendingApprovals.length, 0);
    say(this.#sums, [plural(items.length, "agent"), atWork > 0 && `${amount(atWork)} at work`, questions > 0 && approvalsWait(questions),
      usage.totalTokens !== null && plural(usage.totalTokens, "token"), usage.cost !== null && `cost ${cost(usage.cost)}`].filter(Boolean).join(", "));
    keyed(this.#list, nested(items), ({ id }) => id, (item) => makeLine(item, this.here, items[1].parent.path[0]), updateLine);
  }
}

/** The executions as they stand below each other, the root first. */
function nested(items) {
  const below = Map.groupBy(items, ({ parent }) => parent?.executionId);
  const from = (item) => [item, ...(below.get(item.id) ?? []).flatMap(from)];
  return (below.get(undefined) ?? []).flatMap(from);
}

/** What the root was asked stands in the path of its children alone as one line of text. */
function makeLine({ id, parent }, here, root) {
  const { name, asked } = parent?.path.at(-1) ?? root;
  const who = id === here ? h("strong", { "aria-current": "page" }, revealed(name || "agent")) : h("a", { href: `#${executionPath(id)}` }, revealed(name || "agent"));
  return h("li", { class: `row depth${Math.min(parent?.depth ?? 0, 2)}` }, h("span", { class: "badge" }), who, h("span", { class: "asking" }),
    h("span", { class: "small muted" }), h("span", { class: "small muted asked" }, asked && ["“", revealed(asked), "”"]));
}

function updateLine(line, { status, pendingApprovals, usage }) {
  const [badge, , asking, used] = line.children;
  attribute(badge, "data-status", status);
  say(badge, words(status));
  say(asking, pendingApprovals.length > 0 ? approvalsWait(pendingApprovals.length) : "");
  once(used, usage?.totalTokens ?? null, (tokens) => (tokens === null ? "" : plural(tokens, "token")));
}
