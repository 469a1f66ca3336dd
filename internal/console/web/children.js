// The children of a call, one line each: name, status, and the number of questions that wait for a person. The link opens the child's own page.

import { executionPath } from "./api.js";
import { attribute, h, keyed, say } from "./dom.js";
import { approvalsWait, ended, words } from "./format.js";
import { lookup } from "./lookup.js";
import { reveal, revealed } from "./reveal.js";
import { once } from "./rowparts.js";

/** The lines of one call. */
export class Children {
  element = h("ul", { class: "children", "aria-label": "Agents", hidden: true });

  /** @param children as an item has them @param {boolean} hasEnded whether their parent has ended, and they with it */
  show(children = [], hasEnded = false) {
    attribute(this.element, "hidden", children.length === 0);
    keyed(this.element, children, (child) => child.executionId, makeLine, (line, child) => updateLine(line, child, hasEnded));
  }
}

function makeLine({ executionId }) {
  return h("li", { class: "row" }, h("span", { class: "badge" }), h("a", { href: `#${executionPath(executionId)}` }), h("span", { class: "asking" }),
    h("span", { class: "small error" }));
}

function updateLine(line, { name, status, cause, pendingApprovals, error }, hasEnded) {
  const [badge, link, asking, failed] = line.children;
  const left = hasEnded && !ended.includes(status);
  attribute(badge, "data-status", left ? "cancelled" : status);
  say(badge, left ? "ended with its parent" : `${lookup(works, status) ?? words(String(status))}${reasonOf(cause)}`);
  once(link, name || "agent", (text) => revealed(text));
  say(asking, pendingApprovals > 0 ? approvalsWait(pendingApprovals) : "");
  once(failed, error ? `${error.code}: ${error.message}` : "", (text) => reveal(text));
}

/** The log of a parent does not report the steps of a child within a turn. */
const works = { waiting: "at work" };

const causes = { provider: "its model is away", recovery: "its server failed again and again", processGone: "its process is gone" };

function reasonOf(cause) {
  return cause === undefined ? "" : `: ${lookup(causes, cause) ?? words(String(cause))}`;
}
