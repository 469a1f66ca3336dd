// The tree of an execution, beside its conversation: each agent with its status, its prompt, its tokens and its questions. The stream of an execution
// reports only its own children, so the tree is polled from the server while the page is visible.

import { executionPath, get, sleep } from "./api.js";
import { attribute, h, keyed, say } from "./dom.js";
import { amount, approvalsWait, cost, ended, plural, words } from "./format.js";
import { revealed } from "./reveal.js";
import { once } from "./rowparts.js";

const readEvery = 3000;

/** A line with the sums, which opens the list. */
export class Tree {
  #sums = h("span");
  #list = h("ul", { class: "children tree", "aria-label": "Agents of this tree" });
  element = h("details", { class: "settings card", hidden: true }, h("summary", {}, "Agents of this tree: ", this.#sums), this.#list);

  /** @param execution of the page, which names the root @param steady draws without moving the text that a person reads */
  constructor(execution, steady) {
    this.steady = steady;
    this.here = execution.id;
    this.root = execution.parent?.root ?? execution.id;
    this.hasTree = Boolean(execution.parent ?? execution.delegation);
  }

  /** Shows the tree until it has ended, or until the user leaves the page. */
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

/** The executions in the order of the tree, each parent before its children. */
function nested(items) {
  const below = Map.groupBy(items, ({ parent }) => parent?.executionId);
  const from = (item) => [item, ...(below.get(item.id) ?? []).flatMap(from)];
  return (below.get(undefined) ?? []).flatMap(from);
}

/** Only the path of a child has the root's prompt as one line of text. */
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
