// What a file of tests plays on: a model, a server that asks it, and a browser.

import { launch } from "./browser.js";
import { Model } from "./model.js";
import { Server } from "./server.js";

const standing = {};

/** Starts all three. Where one cannot start, the others are there to be lowered. */
export async function raise(more = {}) {
  standing.model = await Model.up();
  const both = [
    Server.up({ model: standing.model, ...more }).then((server) => (standing.server = server)),
    launch().then((browser) => (standing.browser = browser)),
  ];
  await Promise.allSettled(both);
  await Promise.all(both);
  return standing;
}

/** Ends whatever was started. */
export async function lower() {
  await standing.browser?.close();
  await standing.server?.down();
  await standing.model?.down();
}

/** The external agent of tests, for raise. */
export const scripted = { command: process.env.SIGNOFF_TEST_AGENT, home: "shared" };
