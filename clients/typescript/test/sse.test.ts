import assert from "node:assert/strict";
import { test } from "node:test";
import { EventStreamParser, type Frame } from "@signoff/client";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Parses text that comes in pieces of the given sizes, the last one again and again. */
function parse(text: string | Uint8Array, ...sizes: number[]): Frame[] {
  const parser = new EventStreamParser();
  const all = typeof text === "string" ? bytes(text) : text;
  const frames: Frame[] = [];
  for (let at = 0, n = 0; at < all.length; n++) {
    const size = sizes[Math.min(n, sizes.length - 1)] ?? all.length;
    frames.push(...parser.push(all.subarray(at, at + size)));
    at += size;
  }
  return frames;
}

const frame = (data: string, more: Partial<Frame> = {}): Frame => ({ event: "message", data, id: undefined, ...more });

const cases: Record<string, [text: string, frames: Frame[]]> = {
  "one frame": ["id: 7\nevent: a\ndata: x\n\n", [frame("x", { event: "a", id: "7" })]],
  "line ends of all kinds": ["data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", [frame("1"), frame("2"), frame("3")]],
  "mixed line ends within a frame": ["id: 1\rdata: a\r\ndata: b\n\r\n", [frame("a\nb", { id: "1" })]],
  "comments": [": heartbeat\n\ndata: x\n: within\ndata: y\n\n:\n\n", [frame("x\ny")]],
  "several lines of data": ["data: a\ndata:\ndata: c\n\n", [frame("a\n\nc")]],
  "data that is empty": ["data\n\ndata:\n\n", [frame(""), frame("")]],
  "one space is taken away, and no more": ["data:  x \ndata:y\n\n", [frame(" x \ny")]],
  "colons in values": ['data: {"a":"b:c"}\n\n', [frame('{"a":"b:c"}')]],
  "a byte order mark": ["\uFEFFdata: x\n\ndata: \uFEFFy\n\n", [frame("x"), frame("\uFEFFy")]],
  "characters of two, three and four bytes": ["data: ß€😀\u2028é\n\n", [frame("ß€😀\u2028é")]],
  "unknown fields, and names in other cases": ["foo: 1\nData: x\ndata: y\nretry: 1x\n\n", [frame("y")]],
  "an event without data is none": ["event: a\nid: 3\n\ndata: x\n\n", [frame("x")]],
  "an id with a null is none": ["id: a\0b\ndata: x\n\n", [frame("x")]],
  "an id is that of its own frame": ["id: 1\ndata: x\n\ndata: y\n\n", [frame("x", { id: "1" }), frame("y")]],
  "what has no empty line after it is no frame": ["data: x\n\nid: 2\ndata: y\n", [frame("x")]],
  "a stream that ends within a line": ["data: x\n\ndata: y", [frame("x")]],
  "empty lines": ["\n\n\r\n\r\rdata: x\n\n\n\n", [frame("x")]],
};

for (const [name, [text, frames]] of Object.entries(cases)) {
  test(`${name}, cut at every byte`, () => {
    assert.deepEqual(parse(text), frames, "in one piece");
    for (let size = 1; size <= 3; size++) assert.deepEqual(parse(text, size), frames, `in pieces of ${size}`);
    for (let cut = 1; cut < bytes(text).length; cut++) assert.deepEqual(parse(text, cut, 1 << 20), frames, `cut at ${cut}`);
  });
}

test("retry is what was sent last", () => {
  const parser = new EventStreamParser();
  assert.equal(parser.retry, undefined);
  parser.push(bytes("retry: 20"));
  assert.equal(parser.retry, undefined);
  parser.push(bytes("00\n\nretry: -1\nretry:\n"));
  assert.equal(parser.retry, 2000);
});

test("bytes that are no UTF-8 do no harm", () => {
  const text = new Uint8Array([...bytes("data: a"), 0xff, 0xc3, ...bytes("b\n\n")]);
  assert.deepEqual(parse(text, 1), [frame("a\uFFFD\uFFFDb")]);
});

test("empty pieces change nothing", () => {
  const parser = new EventStreamParser();
  const frames = ["data: x\r", "", "\n", "", "\r\n"].flatMap((piece) => parser.push(bytes(piece)));
  assert.deepEqual(frames, [frame("x")]);
});

test("a line of a million bytes in small pieces takes no quadratic time", () => {
  const long = "x".repeat(1 << 20);
  assert.deepEqual(parse(`data: ${long}\n\n`, 64), [frame(long)]);
});
