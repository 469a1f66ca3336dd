// The tests of the console lean on tabs that do not forgive. Here it is shown that they do not: each of these faults is told.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible } from "./harness/axe.js";
import { launch, visit } from "./harness/browser.js";
import { Server } from "./harness/server.js";

let server;
let browser;

before(async () => {
  [server, browser] = await Promise.all([Server.up(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.down();
});

for (const [name, cause, told] of [
  ["an error on the console", () => console.error("oh no"), /console: oh no/],
  [
    "an exception",
    () =>
      setTimeout(() => {
        throw new Error("thrown");
      }),
    /exception: .*thrown/,
  ],
  ["a promise that nobody caught", () => void Promise.reject(new Error("rejected")), /exception: .*rejected/],
  [
    "a handler in an attribute",
    () => {
      try {
        document.body.setAttribute("onclick", "1");
      } catch {
        /* it is refused, and told */
      }
    },
    /policy: require-trusted-types-for/,
  ],
  [
    "a link that is code",
    () => {
      location.href = "javascript:1";
    },
    /policy: /,
  ],
  [
    "markup out of a text",
    () => {
      try {
        document.body.innerHTML = "<b>x</b>";
      } catch {
        /* it is refused, and told */
      }
    },
    /policy: require-trusted-types-for/,
  ],
  ["a request to elsewhere", () => void fetch("http://127.0.0.1:9/").catch(() => undefined), /policy: connect-src/],
  ["a picture from elsewhere", () => document.body.append(Object.assign(new Image(), { src: "http://127.0.0.1:9/x.png" })), /policy: img-src/],
  ["a file that is not there", () => void fetch("/console/none.js").catch(() => undefined), /status of 404/],
  ["injected code that ran", () => window.__ran(1), /injected code ran: 1/],
  ["a dialog", () => alert("hello"), /dialog: hello/],
]) {
  test(`${name} is told`, async () => {
    await assert.rejects(
      visit(browser, server, async (v) => {
        const page = await v.tab();
        await page.goto(server.url);
        await page.getByLabel("Link or token").waitFor();
        assert.deepEqual(v.faults, []);
        await page.evaluate(cause);
        for (let looks = 0; looks < 100 && !v.faults.some((fault) => told.test(fault)); looks++)
          await page.evaluate(() => new Promise(requestAnimationFrame));
      }),
      (error) => told.test(error.actual?.join("\n") ?? error.message),
    );
  });
}

test("what a screen reader cannot read is told, and what cannot be seen", () =>
  visit(browser, server, async (v) => {
    const page = await v.tab({ colorScheme: "dark" });
    await page.goto(server.url);
    await page.getByLabel("Link or token").waitFor();
    await accessible(page, "the door");
    await page.evaluate(() => {
      const pale = document.createElement("p");
      pale.textContent = "hardly to be seen";
      pale.style.color = "#333";
      document.querySelector("main").append(document.createElement("button"), pale);
    });
    await assert.rejects(
      accessible(page, "the door"),
      (error) => /button-name/.test(error.actual.join()) && /color-contrast/.test(error.actual.join()),
    );
  }));
