// No build step looks at the console's modules. TypeScript does here, as it would at its own: a module or a name that is not there would be
// an empty page in the browser, and a module that nobody imports is read by people alone.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const folder = fileURLToPath(new URL("../../../internal/console/web/", import.meta.url));
const read = (name) => readFileSync(folder + name, "utf8");
const all = readdirSync(folder);

// What the page itself and its styles load, by the address that the server gives it: /console/NAME.
const loads = /\b(?:src|href)="([^"#]+)"|url\(\s*["']?([^"')#]+)|@import\s+["']([^"']+)/gi;
const loadedBy = (name) => [...read(name).replace(/\/\*[^]*?\*\/|<!--[^]*?-->/g, "").matchAll(loads)].map((found) => found[1] ?? found[2] ?? found[3]);
const page = all.filter((name) => /\.(html|css)$/.test(name));
const roots = loadedBy("index.html").filter((address) => address.endsWith(".js")).map((address) => path.basename(address));

const program = ts.createProgram(roots.map((name) => folder + name), {
  allowJs: true, checkJs: true, noEmit: true, strict: false, types: [],
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
});

// Modules without types have their shapes guessed, often wrongly: what is said about those is left out, and what is said in comments.
const guessed = new Set([
  2339, // a property that does not exist
  2345, 2353, 2554, 2740, 2810, // an argument or a member that does not fit
  1005, 2749, // a type in a comment
]);

test("every module and every name that is imported or used exists", () => {
  assert.ok(roots.length > 0 && program.getSourceFiles().length > 50);
  const found = ts.getPreEmitDiagnostics(program).filter(({ code }) => !guessed.has(code));
  assert.equal(ts.formatDiagnostics(found, { getCurrentDirectory: () => folder, getCanonicalFileName: (name) => name, getNewLine: () => "\n" }), "");
});

test("every import is that of a module of the console", () => {
  for (const file of modules()) {
    for (const { fileName } of ts.preProcessFile(file.text, true, true).importedFiles) {
      assert.match(fileName, /^\.\/[a-z]+\.js$/, `${path.basename(file.fileName)} imports ${fileName}`);
    }
  }
});

test("what the page and its styles load exists", () => {
  for (const name of page) {
    for (const address of loadedBy(name)) {
      assert.ok(address.startsWith("/console/") && all.includes(address.slice("/console/".length)), `${name} loads ${address}`);
    }
  }
});

test("nothing is left over", () => {
  const reached = new Set(["index.html", ...page.flatMap(loadedBy).map((address) => path.basename(address)), ...modules().map((file) => path.basename(file.fileName))]);
  assert.deepEqual(all.filter((name) => !reached.has(name)), []);
});

function modules() {
  return program.getSourceFiles().filter((file) => path.resolve(path.dirname(file.fileName)) === path.resolve(folder));
}
