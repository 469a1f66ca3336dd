// The page's policy stops in the browser most of what is forbidden here, and there it would be somebody's evening that shows it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import ts from "typescript";

const folder = new URL("../../../internal/console/web/", import.meta.url);
const files = readdirSync(folder).map((name) => ({ name, said: said(name, readFileSync(new URL(name, folder), "utf8")) }));
assert.ok(files.length > 50 && files.every(({ said }) => said.length > 20)); // or nothing below means anything

const unsaid = [
  [/\b(inner|outer)HTML\b/, "text is put in as text, by h() of dom.js"],
  [/\b(insertAdjacentHTML|createContextualFragment|parseFromString|setHTML\w*|srcdoc)\b|\bdocument\.write/, "text is put in as text, by h() of dom.js"],
  [/\beval\(|\bnew Function\b|\bset(Timeout|Interval)\(["'`]/, "text is never run"],
  [/\bstyle=|\bcssText\b|setAttribute\(["']style/, "the policy refuses styles in markup; use a class, or element.style.name"],
  [/<[^>]*\son[a-z]+\s*=/i, "the policy refuses code in markup; use on of h()"],
  [/<style\b|<script>/, "the policy takes files alone"],
  [/\blocalStorage\b|\bindexedDB\b|\bdocument\.cookie\b/, "the token is kept in its tab alone, and so is all else"],
  [/\bcaches\.open\b|\bserviceWorker\b/, "nothing of the console outlives its tab"],
];

for (const [words, why] of unsaid) {
  test(`nothing says ${words.source}: ${why}`, () => {
    for (const { name, said } of files) assert.doesNotMatch(said, words, name);
  });
}

test("requests go through api.js and streams through stream.js: one place sends the token, and one reads streams", () => {
  for (const { name, said } of files) {
    if (!["api.js", "stream.js"].includes(name)) assert.doesNotMatch(said, /\bfetch\(|\b(XMLHttpRequest|EventSource|WebSocket|sendBeacon)\b/, name);
  }
});

test("no other server is named: the console loads from its own alone", () => {
  const harmless = /^http:\/\/www\.w3\.org\/|^https?:\/\/([a-z-]+\.)?example\b/; // one that is shown, such as an example, belongs to nobody
  for (const { name, said } of files) {
    const named = (said.match(/(?:https?:|["'`(])\/\/[a-z0-9$[][^\s"'`)]*/gi) ?? []).filter((address) => !harmless.test(address));
    assert.deepEqual(named, [], name);
  }
});

// said is what a file says to the browser: a module without comments and without the white space between its words, other files without
// comments.
function said(name, text) {
  if (!name.endsWith(".js")) return text.replace(/\/\*[^]*?\*\/|<!--[^]*?-->/g, "");
  const tokens = [];
  const module = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  (function visit(node) {
    const parts = node.getChildren(module);
    if (parts.length === 0) tokens.push(node.getText(module));
    else parts.forEach(visit);
  })(module);
  return tokens.reduce((all, token) => all + (/\w$/.test(all) && /^\w/.test(token) ? " " : "") + token, "");
}
