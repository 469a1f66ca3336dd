// A stream of 50,000 events stays smooth: only what is seen is drawn, work grows with what comes and not with what was there, and nothing jumps
// while text streams. Measured in nodes and in steps of the console's code, never in time, so that a slow or busy machine is no failure.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connection, reads, status, until, visit } from "./harness/browser.js";
import { Gate } from "./harness/model.js";
import { eventually } from "./harness/server.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise({ agents: { scripted } }));
});
after(lower);

/** Has an agent ask, and then talk and think by turns, each time another item of three events. Gives what it asks. */
async function asksToTalk(items) {
  const lines = Array.from({ length: items / 2 }, (_, index) => `#! say word ${index} is said\n#! think thought ${index} is thought`);
  const prompt = ["#! ask c1 title=Talk", ...lines].join("\n");
  const { id } = await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt, timeoutSeconds: 0 });
  return server.asks(id);
}

/** Counts at each picture, until it is asked: the most nodes that there are, and the most that came since the picture before. */
const measure = () => {
  const seen = { most: 0, burst: 0, pictures: 0, shift: 0 };
  let came = 0;
  // The age of an execution is a word in a sentence: where it says "10 s ago" and not "9 s ago" any more, the words behind it make room.
  const isNoAge = ({ node }) => !document.querySelector(".origin")?.contains(node);
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) came += 1 + (node.querySelectorAll?.("*").length ?? 0);
  }).observe(document, { childList: true, subtree: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.sources.some(isNoAge)) seen.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  const count = () => {
    seen.most = Math.max(seen.most, document.querySelectorAll("*").length);
    seen.burst = Math.max(seen.burst, came);
    seen.pictures++;
    came = 0;
    requestAnimationFrame(count);
  };
  count();
  window.__measured = seen;
};

/**
 * Counts how often the console's functions, branches and loops are run, all together; each call gives what was run since the one before.
 * Whoever counts comes before the page: what was compiled before has no counters in its loops.
 */
async function counter(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Profiler.enable");
  await session.send("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return async () => {
    const { result } = await session.send("Profiler.takePreciseCoverage");
    const ranges = result.filter(({ url }) => url.startsWith(server.url)).flatMap(({ functions }) => functions.flatMap((one) => one.ranges));
    return ranges.reduce((sum, { count }) => sum + count, 0);
  };
}

const measured = (page) => page.evaluate(() => ({ ...window.__measured }));

/** Watches a talk from the decision to its end: what is measured is what the page does while it streams. */
async function watch(page, steps, asked) {
  await page.goto("about:blank");
  await page.goto(server.link(`/executions/${asked.executionId}`));
  await connection(page, "live");
  await page.evaluate(measure);
  await steps();
  await server.decide(asked, { decision: "approve" });
  await eventually("the talk ends", async () => (await server.get(`/executions/${asked.executionId}`)).status === "completed", 240_000);
  await status(page, "completed");
  return { steps: await steps(), ...(await measured(page)) };
}

/** Opens an execution that has ended, and measures until it is all there. */
async function load(page, steps, id) {
  await page.goto("about:blank");
  await steps();
  await page.goto(server.link(`/executions/${id}`));
  await page.evaluate(measure);
  await status(page, "completed");
  await page.locator("article.item").first().waitFor();
  return { steps: await steps(), ...(await measured(page)) };
}

test("50,000 events: few nodes, few of them new in each picture, and ten times the steps of 5,000, not a hundred times", { timeout: 600_000 }, () =>
  visit(browser, server, async (v) => {
    const [short, long] = [await asksToTalk(1700), await asksToTalk(17_000)];
    const page = await v.tab();
    page.setDefaultTimeout(240_000); // whoever counts the steps is slow
    const steps = await counter(page);
    const shortLive = await watch(page, steps, short);
    const live = await watch(page, steps, long);
    const few = await load(page, steps, short.executionId);
    const many = await load(page, steps, long.executionId);
    const { lastSeq } = await server.get(`/executions/${long.executionId}`);
    assert.ok(lastSeq >= 50_000, `${lastSeq} events`);
    for (const [what, less, more] of [["streamed", shortLive, live], ["loaded", few, many]]) {
      const nodes = `${what}: ${less.most} nodes for 5,000 events, ${more.most} for ten times as many`;
      assert.ok(more.most < 4000 && more.most < less.most * 2 + 1000, nodes);
      assert.ok(more.burst < 4000, `${what}: up to ${more.burst} nodes new in a picture`);
      // Each picture looks at each page of twenty rows, in four or five steps, and draws what has changed, in about as many again; the slower the
      // events come, the more pictures there are.
      const looks = more.pictures * (17_000 / 20) * 10;
      const told = `${what}: ${less.steps} steps for 5,000 events, ${more.steps} for ten times as many in ${more.pictures} pictures`;
      assert.ok(more.steps < less.steps * 15 + looks, told);
    }
    await wander(page);
    await page.getByRole("button", { name: "Raw events" }).click();
    await wander(page);
    const all = await measured(page);
    assert.ok(all.most < 5000, `${all.most} nodes with the raw feed`);
  }),
);

/** Goes through all that scrolls, to its beginning and its end: wherever one looks something is drawn soon, also where pictures outrun the drawing. */
async function wander(page) {
  for (const part of [0, 0.5, 1, 0.25]) {
    const shown = await page.evaluate(async (part) => {
      const boxes = [document.scrollingElement, ...document.querySelectorAll("main *")].filter(
        (one) =>
          one.scrollHeight > one.clientHeight + 500 && (one === document.scrollingElement || /auto|scroll/.test(getComputedStyle(one).overflowY)),
      );
      for (const box of boxes) box.scrollTop = (box.scrollHeight - box.clientHeight) * part;
      let there = false;
      for (let pictures = 0; pictures < 4 || (!there && pictures < 120); pictures++) {
        await new Promise(requestAnimationFrame);
        const middle = document.elementFromPoint(innerWidth / 3, innerHeight / 2);
        there = middle !== null && middle !== document.body && middle.textContent.trim().length > 0;
      }
      return { boxes: boxes.length, there };
    }, part);
    assert.ok(shown.boxes > 0, "something scrolls");
    assert.ok(shown.there, `at ${part} there is nothing to be seen`);
  }
}

const prose = Array.from(
  { length: 60 },
  (_, index) =>
    `## Part ${index}\n\n` +
    `Text of part ${index} with **bold**, \`code\` and a [link](https://example.com/${index}),` +
    ` long enough to be broken into lines on any screen that there is.\n\n` +
    `- one\n- two\n\n\`\`\`sh\ndf -h /srv/${index}\n\`\`\`\n`,
).join("\n");

for (const device of ["desktop", "phone"]) {
  test(`nothing moves while text streams (${device})`, () =>
    visit(browser, server, async (v) => {
      const [watched, stop] = [new Gate(), new Gate()];
      const scene = model.scene(async (answer) => {
        answer.say("It begins. ");
        await watched.passed;
        await answer.speak(prose.slice(0, 3000), { size: 12, pace: 2 });
        await stop.passed;
      });
      const { id } = await server.create({ prompt: `Go ${scene}` });
      const page = await v.open(`/executions/${id}`, { device });
      await reads(page.locator('article.item[data-kind="message"]').last(), "It begins.");
      await connection(page, "live");
      await page.evaluate(measure);
      const before = await page.evaluate(() => window.__measured.shift);
      watched.open();
      await reads(page.locator('article.item[data-kind="message"]').last(), "Part 9");
      await until(page, () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)))));
      const shift = (await page.evaluate(() => window.__measured.shift)) - before;
      stop.open();
      await status(page, "completed");
      assert.equal(shift, 0, "the sum of what moved");
    }));
}

/** Turns the wheel, until the page has gone there and stands: the wheel itself waits for nothing. */
async function scrollUp(page, by) {
  const from = await page.evaluate(() => scrollY);
  await page.mouse.wheel(0, -by);
  const rests = async (from) => {
    for (let pictures = 0; pictures < 10; pictures++) {
      const at = scrollY;
      await new Promise(requestAnimationFrame);
      if (scrollY === from || scrollY !== at) return false;
    }
    return true;
  };
  await until(page, rests, from);
}

test("a reader who has gone up is left there while text streams", () =>
  visit(browser, server, async (v) => {
    const [watched, stop] = [new Gate(), new Gate()];
    const scene = model.scene(async (answer) => {
      answer.say(prose);
      await watched.passed;
      await answer.speak("\n\nAnd more. ".repeat(100), { size: 40, pace: 2 });
      answer.say("THE END of it. "); // a word is told when a blank follows
      await stop.passed;
    });
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await reads(page.locator('article.item[data-kind="message"]').last(), "Part 59");
    const heading = page.getByRole("heading", { name: "Part 5", exact: true });
    await heading.scrollIntoViewIfNeeded();
    await page.mouse.move(400, 400);
    await scrollUp(page, 200);
    const place = (await heading.boundingBox()).y;
    watched.open();
    await eventually("all was said", async () => (await server.items(id)).at(-1).message?.text.includes("THE END"));
    await until(page, () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)))));
    assert.equal(Math.round((await heading.boundingBox()).y), Math.round(place));
    stop.open();
    await status(page, "completed");
  }));
