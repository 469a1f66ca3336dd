// A list that goes on while somebody looks at it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Listing } from "../../../internal/console/web/listing.js";

/** A page in short: page("c:run b a", "next"). */
function page(text, nextCursor = null) {
  const items = text.split(" ").filter(Boolean).map((one) => {
    const [id, status = "new"] = one.split(":");
    return { id, status };
  });
  return { items, nextCursor };
}

function shown(listing) {
  return listing.shown.map(({ id, status }) => (status === "new" ? id : `${id}:${status}`)).join(" ");
}

test("what stands there keeps its place and is brought up to date in it", () => {
  const listing = new Listing(page("c b a", "2"));
  listing.refresh(page("e d c:done b a", "1"));
  assert.equal(shown(listing), "c:done b a");
  assert.equal(listing.waiting, 2);
  listing.bringUp();
  assert.equal(shown(listing), "e d c:done b a");
  assert.deepEqual([listing.waiting, listing.older], [0, "2"]);
});

test("older pages stay behind the newest, and nothing stands there twice", () => {
  const listing = new Listing(page("d c", "2"));
  listing.append(page("c b", "3"));
  listing.append(page("a"));
  assert.equal(shown(listing), "d c b a");
  listing.refresh(page("e d", "x"));
  assert.deepEqual([listing.waiting, listing.gone], [1, []]);
  listing.bringUp();
  assert.equal(shown(listing), "e d c b a");
  assert.equal(listing.older, null);
});

test("what has gone is known, and stays until the list is brought up", () => {
  const listing = new Listing(page("d c b a", "2"));
  listing.refresh(page("d b a", "2"));
  assert.deepEqual(listing.gone.map((one) => one.id), ["c"]);
  listing.replace({ id: "c", status: "done" });
  assert.equal(shown(listing), "d c:done b a");
  listing.bringUp();
  assert.equal(shown(listing), "d b a");
});

test("of the last page all is known", () => {
  const listing = new Listing(page("b a"));
  listing.refresh(page("b"));
  assert.deepEqual(listing.gone.map((one) => one.id), ["a"]);
  listing.refresh(page(""));
  assert.equal(listing.gone.length, 2);
  listing.bringUp();
  assert.equal(shown(listing), "");
});

test("where more came than a page holds, nothing that is shown counts as gone, and no hole is left", () => {
  const listing = new Listing(page("b a", "2"));
  listing.append(page("z"));
  listing.refresh(page("f e", "9"));
  assert.deepEqual([shown(listing), listing.waiting, listing.gone], ["b a z", 2, []]);
  listing.bringUp();
  assert.deepEqual([shown(listing), listing.older], ["f e", "9"]);
});

test("in an empty list what is new stands at once", () => {
  const listing = new Listing(page(""));
  listing.refresh(page("b a", "2"));
  assert.deepEqual([shown(listing), listing.waiting, listing.older], ["b a", 0, "2"]);
});
