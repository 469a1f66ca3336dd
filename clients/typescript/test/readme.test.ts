// The examples of the README compile against the package, as a reader would write them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the examples take for given. */
const given = `
declare const signoff: Signoff, id: string, page: { signal: AbortSignal };
declare const prompt: string, insertAfter: string, documentRevision: string;
declare const document: Schemas["RunbookDocument"], blockTypes: Schemas["BlockType"][];
declare function readToken(): string;
declare const blob: Blob, image: HTMLImageElement;
declare function showConnection(state: string): void;
declare function append(text: string): void;
declare function ask(approval: Approval, path?: DelegationStep[]): void;
declare function addChild(id: string, name: string): void;
declare function updateChild(id: string, status: ExecutionStatus): void;
declare function show(blocks: unknown): void;
`;

test("the examples of the README compile", () => {
  const page = readFileSync(`${root}README.md`, "utf8");
  const examples = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = ""]) => text);
  assert.ok(examples.length >= 3, "the README has no examples");
  const imports = 'import { Signoff, SignoffError, type Approval, type DelegationStep, type ExecutionStatus, type Schemas } from "@signoff/client";\n';
  const bodies = examples.map((text, i) => `async function example${i}() {\n${text.replace(/^import .*$/gm, "")}}\n`);
  writeFileSync(`${root}build/readme.ts`, imports + given + bodies.join(""));
  const flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom,dom.iterable", "--types", "node"];
  const compiled = spawnSync(`${root}node_modules/.bin/tsc`, [...flags, "build/readme.ts"], { cwd: root, encoding: "utf8" });
  assert.equal(compiled.status, 0, compiled.stdout + compiled.stderr);
});
