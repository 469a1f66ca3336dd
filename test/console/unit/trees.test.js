import assert from "node:assert/strict";
import { test } from "node:test";

import { Trees } from "../../../internal/console/web/trees.js";

const path = (root) => [{ executionId: root, name: `agent of ${root}`, asked: "All of it." }, { executionId: "child", name: "child", asked: "A part." }];

/** A question of a child in a tree, of the root of one, and of an execution that the server says no tree of. */
const ofChild = (id, root) => entry({ id, executionId: `child of ${root}`, root, path: path(root) });
const ofRoot = (id, root) => entry({ id, executionId: root, root, path: null });
const alone = (id) => entry({ id, executionId: `execution of ${id}` });

function entry(approval) {
  return { approval, fresh: false };
}

const told = (rows) => rows.map(({ head, entry: one }) => (head ? `[${head.name}]` : one.approval.id)).join(" ");

test("cards of one tree stand together below its root, where the first of them would", () => {
  const rows = new Trees().rows([alone("a"), ofChild("b", "r"), ofChild("c", "s"), ofChild("d", "r"), alone("e")]);
  assert.equal(told(rows), "a [agent of r] b d [agent of s] c e");
  assert.deepEqual(rows[1].head, { root: "r", name: "agent of r", asked: "All of it." });
});

test("the questions of a root stand with those of its children", () => {
  assert.equal(told(new Trees().rows([ofRoot("a", "r"), alone("b"), ofChild("c", "r")])), "[agent of r] a c b");
});

test("a later question joins its tree at the end of the list, and nowhere else", () => {
  const trees = new Trees();
  const entries = [ofChild("a", "r"), alone("b"), ofChild("c", "s")];
  trees.rows(entries);
  entries.push(ofChild("d", "s"), ofChild("e", "r"));
  assert.equal(told(trees.rows(entries)), "[agent of r] a b [agent of s] c d [agent of r] e");
});

test("the name of a tree goes with its last card", () => {
  const trees = new Trees();
  trees.rows([ofChild("a", "r"), ofChild("b", "s"), ofChild("c", "r")]);
  assert.equal(told(trees.rows([ofChild("a", "r"), ofChild("c", "r")])), "[agent of r] a c");
  assert.equal(told(trees.rows([ofChild("c", "r")])), "[agent of r] c");
  assert.equal(told(trees.rows([])), "");
});

test("whatever comes, what is there stays where it is, and no card is lost", () => {
  let seed = 7;
  const chance = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let run = 0; run < 200; run++) {
    const trees = new Trees();
    const entries = [];
    let before = [];
    for (let step = 0; step < 8; step++) {
      for (let n = chance(4); n > 0; n--) {
        const id = String(entries.length);
        entries.push([() => alone(id), () => ofRoot(id, `r${chance(2)}`), () => ofChild(id, `r${chance(3)}`)][chance(3)]());
      }
      const keys = trees.rows(entries).map(({ key }) => key);
      assert.deepEqual(keys.slice(0, before.length), before);
      assert.equal(new Set(keys).size, keys.length);
      const cards = keys.filter((key) => !key.startsWith("tree "));
      assert.deepEqual(cards.sort(), entries.map(({ approval }) => approval.id).sort());
      before = keys;
    }
  }
});
