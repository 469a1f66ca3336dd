// How much of the machine a call sees: on its card, on the page of a link, on the page of its execution, in the form for a new one, and in the registry.
// A call on the host says so before anything else. The pictures are for people to look at, in test/console/shots.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accessible } from "./harness/axe.js";
import { card, loaded, reads, shots, visit } from "./harness/browser.js";
import { looks } from "./harness/looks.js";
import { Server } from "./harness/server.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;
let scene;
let without; // a server that cannot isolate anything

const environments = {
  ops: { mounts: { "/etc/ssl": "read" }, files: { KUBECONFIG: "/etc/hostname" } },
  host: { isolation: "none", user: "nobody" },
  own: { isolation: "none", asServer: true },
};

before(async () => {
  ({ model, server, browser } = await raise({ environments }));
  scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "systemctl status app" }) : answer.say("Done.")));
  without = await Server.up({ model, environments: { default: "host", ...environments }, env: { SIGNOFF_SANDBOX: "off" } });
});
after(async () => {
  await without?.down();
  await lower();
});

const question = (environment) => server.question({ prompt: `Go ${scene}`, environment });

const chips = { workspace: /^Environment: workspace · workspace only$/, ops: /^Environment: ops · sees the machine$/, host: /^Environment: host · host, no isolation$/ };

/** Whether this machine can build the environment; where it cannot, nobody is asked in it. */
const offers = async (name) => (await server.get("/environments")).items.find((one) => one.name === name).available;

test("a card says what its call sees, and a call on the host says so first", () =>
  visit(browser, server, async (v) => {
    const page = await v.open("/inbox");
    for (const [name, text] of Object.entries(chips)) {
      if (!(await offers(name))) continue;
      const asked = card(page, await question(name));
      const chip = asked.locator(".badge.environment");
      assert.match(await reads(chip, text), text);
      assert.match(await chip.getAttribute("title"), name === "host" ? /without isolation/ : /^Isolated\. /);
      const first = await asked.evaluate((one) => [...one.querySelectorAll("p, h2, .badge")].find((part) => part.checkVisibility()).textContent);
      const line = /^Runs on .+, as nobody, without isolation$/;
      if (name === "host") assert.match(first, line);
      else assert.doesNotMatch(first, /Runs on/);
      assert.equal(await asked.getByText("LENDS: KUBECONFIG").count(), name === "ops" ? 1 : 0, `${name} lends`);
      assert.equal(await asked.getByText(/can approve its own calls/).count(), 0);
    }
    const own = card(page, await question("own"));
    assert.match(await reads(own.locator(".host-line"), /without isolation/), /^Runs on .+, as .+, without isolation, can approve its own calls$/);
    assert.doesNotMatch(await own.locator(".notice").first().textContent(), /runs on/i, "the line stands twice");
    assert.match(await own.getAttribute("aria-labelledby"), /^warning/, "who hears the card hears the line first");
    await accessible(page, "cards of environments");
  }));

test("three environments, three colours", () =>
  visit(browser, server, async (v) => {
    const page = await v.open("/registry");
    await loaded(page, "Agents and models");
    const grounds = await page.locator(".badge.environment").evaluateAll((all) => all.map((one) => [one.dataset.risk, getComputedStyle(one).backgroundColor]));
    const colours = new Map(grounds);
    assert.deepEqual([...colours.keys()].sort(), ["host", "machine", "workspace"]);
    assert.equal(new Set(colours.values()).size, 3);
    await accessible(page, "the registry");
  }));

test("the page of a link shows the same", () =>
  visit(browser, server, async (v) => {
    const approval = await question("own");
    const { url } = await server.post(`/approvals/${approval.id}/links`, { for: "ann" });
    const page = await v.tab({ device: "phone" });
    await page.goto(server.url + url);
    await reads(page.locator("main"), /systemctl/);
    assert.match(await page.locator("main > :first-child").textContent(), /^Runs on .+, without isolation, can approve its own calls$/);
    await reads(page.locator(".chip.host"), /Environment: own · host, no isolation/);
    await accessible(page, "the page of a link");
    await picture(page, "environment-link-phone");
  }));

test("an execution shows its environment, and the form chooses one and narrows it", () =>
  visit(browser, server, async (v) => {
    const page = await v.open("/new");
    await loaded(page, "New execution");
    const choice = page.getByLabel("Environment", { exact: true });
    const narrow = page.getByLabel(/^Read-only/);
    assert.deepEqual(await choice.locator("option").evaluateAll((all) => all.map((one) => one.value)), ["", "host", "machine", "ops", "own", "workspace"]);
    await choice.selectOption("host");
    assert.equal(await narrow.isDisabled(), true, "the host cannot be narrowed");
    await reads(page.locator(".field-environment .badge.environment"), /host, no isolation/);
    await choice.selectOption("workspace");
    await narrow.check();
    await page.getByLabel("Prompt", { exact: true }).fill(`Go ${scene}`);
    await reads(page.getByRole("region", { name: "The same as a command" }), /"environment":\s*\{\s*"name":\s*"workspace",\s*"readOnly":\s*true\s*\}/);
    await accessible(page, "the form");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/executions\//);
    await reads(page.locator(".origin"), /Environment: workspace · workspace only.*read-only/);
    await reads(page.locator(".origin"), /model \S+, the default, created/);
    const id = page.url().split("/").at(-1);
    const { environment } = await server.get(`/executions/${id}`);
    assert.deepEqual([environment.name, environment.readOnly], ["workspace", true]);
    await page.goto(`${server.url}/#/new?from=${id}`);
    await loaded(page, "New execution");
    assert.deepEqual([await choice.inputValue(), await narrow.isChecked()], ["workspace", true]);
  }));

test("what this machine cannot build cannot be chosen, and says why", () =>
  visit(browser, without, async (v) => {
    const page = await v.open("/new");
    await loaded(page, "New execution");
    const ops = page.getByLabel("Environment", { exact: true }).locator("option[value=ops]");
    assert.deepEqual([await ops.isDisabled(), await ops.textContent()], [true, "ops – not available"]);
    const { reason } = (await without.get("/environments")).items.find((one) => one.name === "ops");
    await reads(page.locator(".field-environment .reason"), reason);
  }));

async function picture(page, name) {
  await mkdir(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

for (const { device, colorScheme } of looks) {
  test(`pictures of environments: ${device}, ${colorScheme}`, () =>
    visit(browser, server, async (v) => {
      const page = await v.open("/inbox", { device, colorScheme });
      await page.locator("article.approval").nth(2).waitFor();
      await picture(page, `environment-inbox-${device}-${colorScheme}`);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      assert.equal(sideways, false, "the inbox scrolls sideways");
      await page.goto(`${server.url}/#/new`);
      await loaded(page, "New execution");
      await page.getByLabel("Environment", { exact: true }).selectOption("own");
      await picture(page, `environment-new-${device}-${colorScheme}`);
      await page.goto(`${server.url}/#/registry`);
      await loaded(page, "Agents and models");
      await picture(page, `environment-registry-${device}-${colorScheme}`);
    }));
}
