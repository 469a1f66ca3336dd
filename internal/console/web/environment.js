// The environment of a call or an execution: how much of the machine it exposes, as a chip and in words. A command on the host has a line of its own,
// which is the first of its card.

import { get } from "./api.js";
import { attribute, fill, h } from "./dom.js";
import { lookup } from "./lookup.js";
import { revealText, revealed } from "./reveal.js";

const risks = {
  workspace: { text: "workspace only", shows: "Isolated. It sees the working directory and the programs of the system." },
  machine: {
    text: "sees the machine",
    shows: "Isolated. It sees or reaches more than the working directory: files or processes of the machine, private hosts, or lent credentials.",
  },
  host: { text: "host, no isolation", shows: "Runs on the host without isolation, and can do whatever its user can do." },
};

/** What a risk means, in a sentence. */
export function riskText(risk) {
  return lookup(risks, risk)?.shows ?? "This console does not know what it exposes.";
}

/** The chip of an environment: its name and its risk in words, also for those who see no colours. Without a risk it is the name alone. */
export function environmentChip({ name, risk }, more = []) {
  const chip = h("span", { class: "badge environment" });
  show(chip, { name, risk }, more);
  return chip;
}

function show(chip, { name, risk }, more, late = false) {
  attribute(chip, "data-risk", risk);
  attribute(chip, "title", risk === undefined ? null : [riskText(risk), ...more].map(revealText).join(" "));
  const words = risk === undefined ? null : [" · ", lookup(risks, risk)?.text ?? revealed(`risk: ${risk}`)];
  fill(chip, h("span", { class: "spoken" }, "Environment: "), revealed(name), late ? h("span", { class: "spoken" }, words) : words);
}

/**
 * The chip of an execution. The execution knows the name, the registry the risk; a key that may not read that leaves the chip without. The risk comes later
 * than the page, so it is a colour, a tooltip and words for screen readers alone: another word to see in the chip would move the page below it.
 */
export function executionEnvironment(environment, signal) {
  const chip = environmentChip({ name: environment.name }); // the registry is asked meanwhile
  const more = environment.readOnly ? ["Read-only."] : [];
  get("/environments", {}, { signal }).then(({ items }) => {
    const found = items.find((one) => one.name === environment.name);
    if (found !== undefined) show(chip, found, [...more, ...shows(found)], true);
  }, () => {});
  return [chip, environment.readOnly ? h("span", { class: "badge" }, "read-only") : null];
}

/** What a definition shows beside the folders of its view, each in a sentence. */
export function shows(environment) {
  const list = (name, all) => (all.length === 0 ? undefined : `${name}: ${all.join(", ")}.`);
  const { view, readOnly, mounts, hidden, processes, networks, files, user, asServer, allow } = environment;
  return [
    view === "machine" ? "Folders of the system, read-only, without secret files." : undefined,
    readOnly ? "Nothing can be written." : undefined,
    list("Mounts", mounts.map(({ path, access }) => `${path} (${access})`)),
    list("Hidden", hidden),
    processes === "host" ? "Lists the processes of the machine." : undefined,
    list("Private hosts", networks.flatMap((network) => network.hosts)),
    list("LENDS", Object.keys(files).sort()),
    user === "" ? undefined : `Runs as ${user}.`,
    asServer ? "Can approve its own calls." : undefined,
    list("Runs without a question", allow),
  ].filter((sentence) => sentence !== undefined);
}

const hostLine = /^runs on .*, without isolation/;

/** The reason of an approval in two parts: the line about the host, or "", and the rest. */
export function splitReason({ environment, reason }) {
  const text = reason ?? "";
  if (environment?.risk !== "host") return { first: "", rest: text };
  const end = text.indexOf("\n");
  const line = end < 0 ? text : text.slice(0, end);
  if (!hostLine.test(line)) return { first: about(environment), rest: text };
  return { first: line, rest: end < 0 ? "" : text.slice(end + 1) };
}

function about({ user, asServer }) {
  return `runs on the host, as ${user || "the server's user"}, without isolation${asServer ? ", can approve its own calls" : ""}`;
}

/** The first line of the card of a call that runs on the host; null for all others. */
export function hostWarning(approval) {
  const { first } = splitReason(approval);
  if (first === "") return null;
  const warning = ["R", revealed(first.slice(1))];
  const says = first.includes("can approve its own calls") || !approval.environment.asServer;
  return h("p", { class: "host-line" }, h("strong", {}, warning, says ? null : ", can approve its own calls"));
}

/** Names the credentials that a call is lent; null where there are none. */
export function lendsView(environment) {
  const names = environment?.lends ?? [];
  if (names.length === 0) return null;
  return h("p", { class: "notice warn lends" }, h("strong", {}, "LENDS: "), h("code", {}, revealed(names.join(", "))), " – a credential that the operator lends to this call");
}

/** What a request says to get the environment of an execution again: its name, or the name with what is left out. */
export function choiceOf({ name, readOnly, mounts, hosts }) {
  const choice = { name, ...(readOnly ? { readOnly } : {}), ...(mounts ? { mounts } : {}), ...(hosts ? { hosts } : {}) };
  return Object.keys(choice).length === 1 ? name : choice;
}
