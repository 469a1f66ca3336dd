// axe-core in the page. It is evaluated by way of the debugger, and not added as a script: the page's policy refuses any script
// but the console's own, which is what the page is for. So the policy that users have is also the one that is looked at.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Expects that axe finds nothing on the page as it stands. */
export async function accessible(page, what) {
  const found = await violations(page);
  assert.deepEqual(found, [], `${what}: what axe-core finds`);
}

async function violations(page) {
  const session = await page.context().newCDPSession(page);
  try {
    const loaded = "typeof axe === 'undefined'";
    await evaluate(session, `if (${loaded}) { ${source} }`);
    return await evaluate(session, `(${run})()`);
  } finally {
    await session.detach();
  }
}

async function evaluate(session, expression) {
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

/** Runs in the page. */
async function run() {
  const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 5)
        .map(
          (node) =>
            `${node.target.join(" ")} ${node.html.slice(0, 200)} ${node.any
              .concat(node.all)
              .map((one) => one.message)
              .join("; ")
              .slice(0, 300)}`,
        )
        .join(" | ")}`,
  );
}
