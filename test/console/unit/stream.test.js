// Frames are put together from bytes that come in pieces of any size: a cut may lie within a character, and between the two letters of a line's end.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Frames } from "../../../internal/console/web/stream.js";

const text = ': heartbeat\n\nretry: 2500\n\nid: 1\nevent: message.delta\ndata: {"text":"grün 🙂"}\n\nevent: stream.synced\ndata: {}\n\nid: 2\ndata: a\ndata:b\n\n';
const wanted = [
  { id: "1", event: "message.delta", data: '{"text":"grün 🙂"}' },
  { event: "stream.synced", data: "{}" },
  { id: "2", event: "message", data: "a\nb" },
];

/** All frames of bytes that come in pieces of that size. */
function read(bytes, size) {
  const frames = new Frames();
  const all = [];
  for (let at = 0; at < bytes.length; at += size) all.push(...frames.push(bytes.subarray(at, at + size)));
  return { all, retry: frames.retry };
}

for (const [name, ends] of Object.entries({ "line feeds": "\n", "carriage returns and line feeds": "\r\n" })) {
  test(`frames in pieces of any size, with ${name}`, () => {
    const bytes = new TextEncoder().encode(text.replaceAll("\n", ends));
    for (let size = 1; size <= bytes.length; size++) assert.deepEqual(read(bytes, size), { all: wanted, retry: 2500 }, `pieces of ${size} bytes`);
  });
}

test("a frame that was cut off leaves nothing behind", () => {
  const bytes = new TextEncoder().encode("id: 7\ndata: {}\n");
  assert.deepEqual(read(bytes, bytes.length).all, []);
});
