// Markdown as a tree: what is read out of a text, whole and in pieces. How it is drawn is tested in the browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Passages, passages } from "../../../internal/console/web/passages.js";
import { spans, target, textOf } from "../../../internal/console/web/spans.js";

/** A tree in short: p"…", h1"…", code:go"…", ul[…], … */
function short(all) {
  return all.map((one) => shorts[one.type](one)).join(" ");
}

const shorts = {
  paragraph: ({ text }) => `p"${text}"`,
  plain: ({ text }) => `plain"${text}"`,
  heading: ({ level, text }) => `h${level}"${text}"`,
  code: ({ language, text }) => `code:${language}"${text}"`,
  rule: () => "hr",
  quote: ({ passages: inner }) => `quote[${short(inner)}]`,
  list: ({ start, items }) => `${start === undefined ? "ul" : `ol${start}`}[${items.map(({ done, passages: inner }) =>
    `${done === undefined ? "" : done ? "x " : "o "}${short(inner)}`).join(", ")}]`,
  table: ({ head, align, rows }) => `table(${head} / ${align} / ${rows.join(" ; ")})`,
};

for (const [text, wanted] of [
  ["One\nline.\n\nTwo.", 'p"One\nline." p"Two."'],
  ["# A\n## B ##\n#none\n####### seven", 'h1"A" h2"B" p"#none\n####### seven"'],
  ["A\n===\nB\n---\n\n---", 'h1"A" h2"B" hr'],
  ["```go\nfunc f() {\n\n}\n```\nafter", 'code:go"func f() {\n\n}" p"after"'],
  ["````\n```\n````", 'code:"```"'],
  ["~~~\nopen", 'code:"open"'],
  ["text\n```\ncode\n```", 'p"text" code:"code"'],
  ["    indented\n\n    more\nout", 'code:"indented\n\nmore" p"out"'],
  ["> a\n> > b\n\nc", 'quote[p"a" quote[p"b"]] p"c"'],
  ["- a\n- b\n  more\n\n  second\n- c", 'ul[p"a", p"b\nmore" p"second", p"c"]'],
  ["1. a\n   - b\n   - c\n2. d", 'ol1[p"a" ul[p"b", p"c"], p"d"]'],
  ["- a\n    - b\n\nend", 'ul[p"a" ul[p"b"]] p"end"'],
  ["3) a\n4) b\n- c", 'ol3[p"a", p"b"] ul[p"c"]'],
  ["- [ ] a\n- [x] b", 'ul[o p"a", x p"b"]'],
  ["- a\nlazy\n\n1984. b", 'ul[p"a\nlazy"] ol1984[p"b"]'],
  ["It was in\n1984. Or later.", 'p"It was in\n1984. Or later."'],
  ["- a\n---\n- b", 'ul[p"a"] hr ul[p"b"]'],
  ["- a\n  ```\n  code\n    more\n  ```", 'ul[p"a" code:"code\n  more"]'],
  ["| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 \\| 3 |\nend", 'table(a,b / start,center / 1,`x|y` ; 2 | 3) p"end"'],
  ["a | b\nno table", 'p"a | b\nno table"'],
  ["<script>alert(1)</script>\n<!-- x -->", 'p"<script>alert(1)</script>\n<!-- x -->"'],
  ["a\r\nb\r\n\r\nc", 'p"a\nb" p"c"'],
  ["", ""],
]) {
  test(`passages of ${JSON.stringify(text)}`, () => assert.equal(short(passages(text)), wanted));

  test(`and in pieces: ${JSON.stringify(text)}`, () => {
    const reader = new Passages();
    const all = [];
    for (const character of text) {
      all.push(...reader.push(character));
      reader.open();
    }
    assert.equal(short([...all, ...reader.end()]), wanted);
  });
}

test("what is open is shown as far as it can be told, without the marks that may still become something", () => {
  const reader = new Passages();
  const shown = [];
  for (const piece of ["Some **bo", "ld** text\n", "\n", "```", "sh\nls", " -l\n", "```", "\n- a\n", "- "]) {
    reader.push(piece);
    shown.push(short(reader.open()));
  }
  assert.deepEqual(shown, [
    'p"Some **bo"', 'p"Some **bold** text"', "", "", 'code:sh"ls"', 'code:sh"ls -l"', 'code:sh"ls -l"', 'ul[p"a"]', 'ul[p"a"]',
  ]);
});

test("long passages are cut, and nothing of them is lost", () => {
  const words = "word ".repeat(100_000);
  const cut = passages(words);
  assert.ok(cut.length > 50 && cut.every((one) => one.text.length <= 8300));
  assert.equal(cut.map((one) => one.text).join("").replace(/\s/g, ""), words.replace(/\s/g, ""));
  assert.deepEqual([cut[0].type, cut[1].type], ["paragraph", "plain"]);
});

test("long code stays code", () => {
  const cut = passages(`\`\`\`sh\n${"echo\n".repeat(10_000)}\`\`\`\nafter`);
  assert.deepEqual(new Set(cut.slice(0, -1).map((one) => one.type + one.language)), new Set(["codesh"]));
  assert.deepEqual([cut[0].continued, cut[1].continued, cut.at(-1).text], [false, true, "after"]);
  assert.equal(cut.slice(0, -1).map((one) => one.text).join("\n"), "echo\n".repeat(10_000).trimEnd());
});

test("a long list goes on in another one", () => {
  const cut = passages(Array.from({ length: 2000 }, (_, at) => `${at + 1}. item`).join("\n"));
  assert.ok(cut.every((one) => one.type === "list"));
  assert.equal(cut.flatMap((one) => one.items).length, 2000);
  assert.equal(cut[1].start, cut[0].items.length + 1);
});

test("a long table goes on without its head", () => {
  const cut = passages(`a|b\n-|-\n${"1|2\n".repeat(5000)}`);
  assert.equal(cut.flatMap((one) => one.rows).length, 5000);
  assert.deepEqual([cut[0].head, cut[1].head, cut[1].align], [["a", "b"], undefined, ["start", "start"]]);
});

/** Spans in short: <b>…</b> and the like. */
function inShort(all) {
  return all.map((one) => (one.children ? `<${one.type}${one.address ? ` ${one.address}` : ""}>${inShort(one.children)}</>` : { text: one.text,
    code: `\`${one.text}\``, image: `<image ${one.address} ${one.text}>` }[one.type])).join("");
}

for (const [text, wanted] of [
  ["a *b* **c** ***d*** ~~e~~ ~f~", "a <em>b</> <strong>c</> <em><strong>d</></> <strike>e</> ~f~"],
  ["snake_case_name and _em_ __strong__", "snake_case_name and <em>em</> <strong>strong</>"],
  ["2 * 3 * 4, **open", "2 * 3 * 4, **open"],
  ["**bold *and em* **", "**bold <em>and em</> **"],
  ["`a *b*` ``c ` d`` ` open", "`a *b*` `c ` d` ` open"],
  ["\\*not\\* \\\\ \\n", "*not* \\ \\n"],
  ["[text](https://a.example/x \"title\") [no](", "<link https://a.example/x>text</> [no]("],
  ["[a **b**](<https://a.example/ y>)", "<link https://a.example/ y>a <strong>b</></>"],
  ["[a [b](https://b.example)](https://a.example)", "[a <link https://b.example>b</>](<link https://a.example>https://a.example</>)"],
  ["![alt](https://a.example/p.png)", "<image https://a.example/p.png alt>"],
  ["[![alt](p.png)](https://a.example)", "<link https://a.example><image p.png alt></>"],
  ["see https://a.example/x_(y). (https://b.example)",
    "see <link https://a.example/x_(y)>https://a.example/x_(y)</>. (<link https://b.example>https://b.example</>)"],
  ["<https://a.example> <b>hi</b> xhttps://no.example", "<link https://a.example>https://a.example</> <b>hi</b> xhttps://no.example"],
  ["&lt;b&gt; &amp;amp; &copy; &#39;", "<b> &amp; &copy; '"],
]) {
  test(`spans of ${JSON.stringify(text)}`, () => assert.equal(inShort(spans(text)), wanted));
}

test("what is begun at the end of a text that grows counts as closed", () => {
  assert.equal(inShort(spans("a **bo", true)), "a <strong>bo</>");
  assert.equal(inShort(spans("a `co", true)), "a `co`");
  assert.equal(inShort(spans("a **bo")), "a **bo");
});

test("nothing is lost or invented, whatever comes", () => {
  for (const text of ["*".repeat(5000), "[".repeat(5000), "![](".repeat(2000), "`".repeat(3000), "**a ".repeat(2000), "*a _b ".repeat(1500),
    "](".repeat(4000), "> ".repeat(4000), "- ".repeat(4000)]) {
    assert.ok(spans(text).length > 0);
    assert.ok(passages(text).length > 0);
    assert.ok(spans(text, true).length > 0);
  }
  assert.equal(textOf(spans("*".repeat(5000))), "*".repeat(5000));
});

test("nesting has an end", () => {
  const depth = (nodes) => 1 + Math.max(0, ...nodes.map((node) => (node.children ? depth(node.children) : 0)));
  assert.ok(depth(spans(`${"*".repeat(500)}a${"*".repeat(500)}`)) < 20);
  const nested = (all) => 1 + Math.max(0, ...all.map((one) => (one.passages ? nested(one.passages) : 0)));
  assert.ok(nested(passages(`${"> ".repeat(500)}a`)) < 12);
});

for (const [address, text, wanted] of [
  ["https://a.example/x", "https://a.example/x", { href: "https://a.example/x", host: "a.example", said: true }],
  ["https://a.example/x", "a.example/x", { href: "https://a.example/x", host: "a.example", said: true }],
  ["https://a.example/x", "the invoice", { href: "https://a.example/x", host: "a.example", said: false }],
  ["https://evil.example/", "https://good.example/", { href: "https://evil.example/", host: "evil.example", said: false }],
  ["https://good.example@evil.example/", "https://good.example@evil.example/", { href: "https://good.example@evil.example/", host: "evil.example",
    said: false }],
  ["https://аpple.example/", "https://аpple.example/", { href: "https://xn--pple-43d.example/", host: "xn--pple-43d.example", said: false }],
  ["mailto:ann@a.example", "Ann", { href: "mailto:ann@a.example", host: "ann@a.example", said: false }],
  ["javascript:alert(1)", "x", undefined],
  ["JaVaScRiPt:alert(1)", "x", undefined],
  ["java\nscript:alert(1)", "x", undefined],
  [" https://a.example", "x", undefined],
  ["data:text/html,x", "x", undefined],
  ["vbscript:x", "x", undefined],
  ["file:///etc/passwd", "x", undefined],
  ["//a.example", "x", undefined],
  ["/inbox", "x", undefined],
  ["#/inbox", "x", undefined],
  ["https://", "x", undefined],
  ["", "x", undefined],
]) {
  test(`an address leads where it says: ${JSON.stringify(address)}`, () => assert.deepEqual(target(address, text), wanted));
}
