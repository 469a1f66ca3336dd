// The tool of an MCP server on the card of an approval: whose it is, what its server claims, and what is different since somebody approved it. And the page that
// a server wants opened, which nothing opens by itself.

import { h } from "./dom.js";
import { moment } from "./format.js";
import { lookup } from "./lookup.js";
import { claimsOf } from "./mcpservers.js";
import { revealed } from "./reveal.js";

const standings = {
  new: "Nobody has approved a call of this tool before.",
  known: "Its definition is the one that was approved before.",
  changed: "Its definition has changed since it was approved.",
};

/** What a person sees of the tool of an MCP server; null for all other calls. */
export function mcpToolView({ mcp }) {
  if (!mcp) return null;
  const { server, tool, annotations, standing, pinnedAt, pinnedBy, changes = [], changesShort } = mcp;
  return h("section", { class: "mcp-tool stack" },
    h("p", {}, "Tool ", h("code", {}, revealed(tool)), " of the MCP server ", h("code", {}, revealed(server)), ". ", lookup(standings, standing) ?? null,
      pinnedBy && pinnedAt ? [" Last approved by ", revealed(pinnedBy.name), ", ", moment(pinnedAt), "."] : null),
    h("p", { class: "row small" }, claimsOf(annotations ?? {}).map((claim) => h("span", { class: "badge", title: "A claim of the server. Nobody has checked it." }, claim))),
    changes.length === 0 ? null : h("details", { class: "changes", open: true }, h("summary", {}, "What has changed"),
      changes.map(changeView), changesShort ? h("p", { class: "muted small" }, "There are more changes, or texts are cut.") : null));
}

function changeView({ field, before, after }) {
  const side = (name, text) => [h("dt", {}, name), h("dd", {}, text === null ? h("span", { class: "muted" }, "not there") : h("pre", { class: "code" }, revealed(text)))];
  return h("dl", { class: "facts change" }, h("dt", {}, "Field"), h("dd", {}, h("code", {}, revealed(field))), side("Before", before), side("Now", after));
}

/** The page that the server of a question wants opened: its host before anything else. Null where it wants none. */
export function pageView(question) {
  const page = pageOf(question?.url);
  if (page === null) return null;
  return h("div", { class: "notice warn" },
    h("p", {}, "The MCP server wants you to open a page of ", h("strong", {}, revealed(page.host)),
      ". Open it only if you know this host. Send the answer when you have done there what it asks."),
    h("p", {}, h("a", { href: page.href, target: "_blank", rel: "noopener noreferrer" }, revealed(page.href))));
}

/** An address that a browser opens as a page; null for all else, such as javascript:. */
export function pageOf(address) {
  const page = typeof address === "string" && URL.canParse(address) ? new URL(address) : null;
  return page !== null && ["http:", "https:"].includes(page.protocol) && page.username === "" ? page : null;
}
