// Chromium, and tabs in it that do not forgive: an error on the console, an exception, a request that fails or leads elsewhere, and a breach of the
// Content-Security-Policy fail the test that caused them, unless it said before that it expects them.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/** Where pictures are left. */
export const shots = fileURLToPath(new URL("../shots/", import.meta.url));

export const devices = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
};

// Without these, Chromium calls its maker at every start, and a closed network refuses that many times over.
const quiet = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the browser. It has a profile of its own, which goes with it. */
export function launch() {
  const executablePath = process.env.SIGNOFF_CHROMIUM || "/usr/bin/chromium";
  const chromiumSandbox = process.getuid() !== 0; // Chromium's own does not work for root
  return chromium.launch({ executablePath, args: quiet, chromiumSandbox, timeout: 60_000 });
}

/**
 * Opens tabs for a test, and closes them after it. The work gets a Visit; what went wrong in its tabs fails the test behind the work,
 * or is told with the work's own failure.
 */
export async function visit(browser, server, work, options = {}) {
  const opened = new Visit(browser, server, options);
  let failure;
  try {
    await work(opened);
  } catch (error) {
    failure = error;
    await opened.photograph();
  } finally {
    await opened.close();
  }
  if (failure !== undefined) {
    if (opened.faults.length > 0) failure.message += `\n\nBesides, in its tabs:\n${opened.faults.join("\n")}`;
    throw failure;
  }
  assert.deepEqual(opened.faults, [], "what went wrong in the tabs");
}

let failures = 0;

/** A browser window of one person: tabs that share storage as tabs do, which for sessionStorage means that they share nothing. */
class Visit {
  faults = [];
  requests = [];
  #contexts = [];
  #expected = [];
  #closing = false;

  constructor(browser, server, options) {
    Object.assign(this, { browser, server, options });
  }

  /** From here on, faults that match this are no faults. */
  expect(...patterns) {
    this.#expected.push(...patterns);
  }

  /** A tab with the link opened, so with a token. page is where it leads: "/executions/…". */
  async open(page = "", { token = this.server.token, ...options } = {}) {
    const tab = await this.tab(options);
    await tab.goto(this.server.link(page, token));
    return tab;
  }

  /** An empty tab in a window of its own. device, colorScheme and more of playwright's options. */
  async tab({ device = "desktop", ...options } = {}) {
    const context = await this.browser.newContext({
      ...devices[device],
      locale: "en-GB",
      reducedMotion: "no-preference",
      ...this.options,
      ...options,
    });
    this.#contexts.push(context);
    context.setDefaultTimeout(60_000);
    await context.exposeBinding("__fault", (_, text) => this.fault(text));
    await context.addInitScript(watch);
    context.on("page", (tab) => this.#listen(tab));
    return context.newPage();
  }

  fault(text) {
    if (!this.#expected.some((pattern) => pattern.test(text))) this.faults.push(text);
  }

  #listen(tab) {
    tab.on(
      "console",
      (message) => ["error", "warning"].includes(message.type()) && this.fault(`console: ${message.text()} (${message.location().url})`),
    );
    tab.on("pageerror", (error) => this.fault(`exception: ${error.stack ?? error}`));
    tab.on("crash", () => this.fault("the tab crashed"));
    tab.on("dialog", (dialog) => {
      this.fault(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    tab.on("request", (request) => this.#request(request));
    tab.on("requestfailed", (request) => this.#failed(request));
  }

  #request(request) {
    const url = request.url();
    this.requests.push(url);
    if (!url.startsWith(`${this.server.url}/`) && !url.startsWith(`blob:${this.server.url}/`)) this.fault(`request to elsewhere: ${url}`);
    if (url.split("#")[0].includes(this.server.token)) this.fault(`a token in an address: ${url}`);
  }

  /**
   * Who leaves a page hangs up on its streams; that is no failure. Nor is a decision whose answer is under way when the test is through: the card
   * had it from the feed already.
   */
  #failed(request) {
    const reason = request.failure()?.errorText;
    if (reason === "net::ERR_ABORTED" && (this.#closing || request.method() === "GET")) return;
    this.fault(`request failed: ${request.method()} ${request.url()}: ${reason}`);
  }

  /** Leaves pictures of what a failed test saw. */
  async photograph() {
    await mkdir(shots, { recursive: true });
    for (const page of this.#contexts.flatMap((context) => context.pages())) {
      await page.screenshot({ path: `${shots}failed-${process.pid}-${++failures}.png`, timeout: 5000 }).catch(() => undefined);
    }
  }

  async close() {
    this.#closing = true;
    await Promise.all(this.#contexts.map((context) => context.close().catch(() => undefined)));
  }
}

/** Runs in each page before anything of it. */
function watch() {
  window.__ran = (what) => window.__fault(`injected code ran: ${what}`);
  document.addEventListener("securitypolicyviolation", (event) => {
    window.__fault(`policy: ${event.violatedDirective} refuses ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
  });
}

/** The card of an approval, in the inbox and in an execution. */
export function card(page, approval) {
  return page.locator(`article.approval[data-id="${approval.id ?? approval}"]`);
}

/** Until the connection line has this state. */
export async function connection(page, state) {
  await page.locator(`.connection[data-state="${state}"]`).waitFor({ state: state === "none" ? "attached" : "visible" });
}

/** Until the execution that is open has this status. */
export async function status(page, name) {
  await page.locator(`.badge.execution-status[data-status="${name}"]`).first().waitFor();
}

/** Until a locator's text fits; returns it. */
export async function reads(locator, pattern) {
  await locator.filter({ hasText: pattern }).first().waitFor();
  return locator.first().textContent();
}

/** Until a page with this heading has all that it asked for. */
export async function loaded(page, heading) {
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  await until(page, () => !document.querySelector("main").textContent.includes("Loading…"));
}

/** Until a check in the page is true. */
export function until(page, check, argument) {
  return page.waitForFunction(check, argument);
}

/**
 * Goes through a conversation from its beginning to its end, and returns all that is to be read on the way: the texts by the ids of the items. Only what
 * is near is drawn, so no single look has it all.
 */
export async function readThrough(page) {
  const texts = await page.evaluate(async () => {
    const seen = new Map();
    const root = document.scrollingElement;
    for (let top = 0, steps = 0; steps < 500; top += innerHeight * 0.8, steps++) {
      root.scrollTop = top;
      for (let pictures = 0; pictures < 3; pictures++) await new Promise(requestAnimationFrame);
      for (const item of document.querySelectorAll("article.item")) {
        const texts = seen.get(item.dataset.id) ?? new Set();
        seen.set(item.dataset.id, texts.add(item.textContent));
      }
      if (top + innerHeight >= root.scrollHeight) break;
    }
    return [...seen].map(([id, texts]) => [id, [...texts].join("\n")]);
  });
  return new Map(texts);
}
