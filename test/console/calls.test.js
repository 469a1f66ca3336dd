// What a person sees of a call besides what it does: what confines it, and what it waits for.

import { writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { card, reads, status, visit } from "./harness/browser.js";
import { eventually } from "./harness/server.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise({ agents: { scripted }, env: { SIGNOFF_MAX_COMMANDS: "1" } }));
});
after(lower);

const tool = (page) => page.locator('article.item[data-kind="tool"]').first();

/** The question of a new execution whose model runs one command. */
function command(line) {
  const scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: line }) : answer.say("Done.")));
  return server.question({ prompt: `Go ${scene}` });
}

test("a command that waits for others to end says so, and runs when they have", () =>
  visit(browser, server, async (v) => {
    const first = await command("echo begun; until [ -e go ]; do sleep 0.05; done");
    await server.decide(first, { decision: "approve" });
    await eventually("the first command prints", async () =>
      (await server.items(first.executionId)).some((item) => item.tool?.output.includes("begun")),
    );
    const second = await command("echo my turn");
    const page = await v.open(`/executions/${second.executionId}`);
    await card(page, second).getByRole("button", { name: "Approve", exact: true }).click();
    await tool(page).locator('[data-status="queued"]').waitFor();
    await reads(tool(page), /It has not begun: it waits until other commands of this server have ended\./);
    await writeFile(`${server.workspace}/go`, "");
    await status(page, "completed");
    await tool(page).locator('[data-status="succeeded"]').waitFor();
    await server.ends(first.executionId);
  }));

test("a card says what confines a command, and that nothing confines what an external agent runs", () =>
  visit(browser, server, async (v) => {
    const ours = await command("echo hello");
    const prompt = '#! ask c1 kind=execute title="Run migrate up" input={"command":"migrate up"}\n#! say That was it.';
    const theirs = await server.asks((await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt })).id);
    const page = await v.open("/inbox");
    await reads(card(page, ours).locator(".confinement"), new RegExp(server.sandbox === "none" ? "switched the sandbox off" : `^${server.sandbox}: `));
    await reads(card(page, theirs).locator(".confinement"), /^none: the agent runs it itself/);
  }));
