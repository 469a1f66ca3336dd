// The card of an approval that cannot be shown. What is asked comes from models and agents, and one thing that breaks its card must not take the
// others along: whoever sits before an empty inbox decides nothing. What cannot be read cannot be approved, so this card can only deny.

import { DecisionForm } from "./decision.js";
import { attribute, fill, h, say, uniqueId } from "./dom.js";
import { shortId, words } from "./format.js";
import { revealed } from "./reveal.js";

/**
 * @param {object} approval
 * @param {unknown} error what came of drawing it
 * @param {(approval: object) => void} decided called with what the server says behind a decision that was sent from this card
 * @param {HTMLElement} [element] where the card that broke stood; it keeps its place
 * @returns {{element: HTMLElement, update(approval: object): void}}
 */
export function plainCard(approval, error, decided, element = h("article", { class: "approval card", tabindex: "0" })) {
  const badge = h("span", { class: "badge" });
  const title = h("h2", { id: uniqueId("approval") }, `Approval ${shortId(approval.id)} cannot be shown`);
  const shown = h("p", { class: "notice error" }, revealed(`It can only be denied here: ${error?.message ?? error}`));
  const form = new DecisionForm(bare(approval), { shown, take, editing: Promise.resolve("") });
  let status = "pending";
  attribute(element, "data-id", approval.id);
  attribute(element, "aria-labelledby", title.id);
  fill(element, h("div", { class: "row small" }, badge), title, shown, form.element);
  update(approval);
  return { element, update };

  function take(next) {
    update(next);
    decided(next);
  }

  function update(next) {
    attribute(element, "data-status", next.status);
    attribute(badge, "data-status", next.status);
    say(badge, words(next.status));
    if (status === "pending" && next.status !== "pending") form.settle(bare(next));
    status = next.status;
  }
}

/** What is Signoff's own of an approval, and nothing that an agent wrote. */
function bare({ id, status, argumentsHash, resolvedAt, decision }) {
  const by = decision?.decidedBy?.name;
  return { id, kind: "unshown", status, argumentsHash, resolvedAt, decision: by === undefined ? null : { decidedBy: { name: by } } };
}
