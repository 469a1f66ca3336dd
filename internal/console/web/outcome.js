// What became of an approval, in words: who decided, what, when and why; or that nobody did.

import { argumentsView } from "./arguments.js";
import { h } from "./dom.js";
import { moment, words } from "./format.js";
import { showJSON } from "./json.js";
import { lookup } from "./lookup.js";
import { reveal, revealText, revealed } from "./reveal.js";
import { revealedCall } from "./suspect.js";

/** One line, letters alone. */
function outcomeText(approval) {
  const { decision, status } = approval;
  if (decision === null || decision === undefined) return lookup(undecided, status) ?? `It is ${words(status)}.`;
  const by = revealText(decision.decidedBy?.name ?? "somebody");
  if (decision.ruleId && decision.remember === "once") return `A permission rule that ${by} made has ${status} it.`;
  if (decision.resolution) return `${by} said: ${lookup(resolutions, decision.resolution) ?? words(decision.resolution)}.`;
  if (approval.kind === "question") return status === "approved" ? `${by} answered.` : `${by} declined.`;
  return `${words(status).replace(/^./, (letter) => letter.toUpperCase())} by ${by}.`;
}

const undecided = {
  expired: "Nobody answered in time, so it did not run.",
  cancelled: "It was withdrawn before anybody decided.",
};

const resolutions = { succeeded: "it has succeeded", failed: "it has failed", retry: "ask to run it again" };

/** All that there is to say about it. */
export function outcomeView(approval) {
  const { decision, resolvedAt } = approval;
  return h("div", { class: "outcome stack" },
    h("p", {}, h("strong", {}, outcomeText(approval)), resolvedAt && h("span", { class: "muted small" }, ` ${moment(resolvedAt)}`)),
    decision && details(approval, decision));
}

function details(approval, decision) {
  return [
    decision.reason && h("p", {}, "Reason: ", revealed(decision.reason)),
    decision.optionId && h("p", {}, "The agent got: ", revealedCall(nameOf(approval, decision.optionId))),
    decision.answer && h("pre", { class: "code exact" }, reveal(showJSON(decision.answer))),
    decision.arguments && h("details", {}, h("summary", {}, "It was approved with other arguments"), argumentsView(approval.tool, decision.arguments)),
    remembered(decision),
  ];
}

function nameOf(approval, optionId) {
  const option = (approval.options ?? []).find((one) => one?.optionId === optionId);
  return typeof option?.name === "string" && option.name !== "" ? option.name : optionId;
}

function remembered(decision) {
  if (!decision.ruleId || decision.remember === "once") return null;
  const far = lookup({ global: "for all executions", tree: "for the whole tree" }, decision.remember) ?? "for this execution";
  return h("p", {}, `Remembered ${far}: `, h("a", { href: "#/rules" }, "see the rules"), ".");
}
