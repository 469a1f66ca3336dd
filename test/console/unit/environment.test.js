// The line about the host is the first of a card, whichever way the server tells it, and never a part of the reason.

import assert from "node:assert/strict";
import { test } from "node:test";

import { choiceOf, shows, splitReason } from "../../../internal/console/web/environment.js";

const host = { name: "ops", risk: "host", user: "operator", asServer: false, lends: [] };
const line = "runs on db-3, as operator, without isolation";
const reasons = [
  ["no environment", null, "It asks.", "", "It asks."],
  ["no reason", null, null, "", ""],
  ["a machine that a text only claims to be", { ...host, risk: "machine" }, `${line}\nIt asks.`, "", `${line}\nIt asks.`],
  ["the server's line", host, `${line}\nIt asks.\nTwice.`, line, "It asks.\nTwice."],
  ["the line alone", host, line, line, ""],
  ["a reason without the line", host, "It asks.", "runs on the host, as operator, without isolation", "It asks."],
  ["no reason on the host", { ...host, user: "", asServer: true }, null, "runs on the host, as the server's user, without isolation, can approve its own calls", ""],
];
for (const [name, environment, reason, first, rest] of reasons) {
  test(name, () => assert.deepEqual(splitReason({ environment, reason }), { first, rest }));
}

const definition = {
  name: "app", view: "machine", readOnly: false, mounts: [{ path: "/srv/app", access: "write" }], hidden: ["/etc/app"], processes: "host",
  networks: [{ name: "corp", hosts: ["api.corp.example"] }], files: { KUBECONFIG: "/etc/k", A: "/etc/a" }, user: "deploy", asServer: false, allow: [],
};

test("what a definition shows is told", () => {
  assert.deepEqual(shows(definition), [
    "Folders of the system, read-only, without secret files.", "Mounts: /srv/app (write).", "Hidden: /etc/app.", "Lists the processes of the machine.",
    "Private hosts: api.corp.example.", "LENDS: A, KUBECONFIG.", "Runs as deploy.",
  ]);
  const bare = { ...definition, view: "workspace", mounts: [], hidden: [], processes: "own", networks: [], files: {}, user: "" };
  assert.deepEqual(shows(bare), []);
  assert.deepEqual(shows({ ...bare, view: "host", asServer: true, allow: ["^systemctl "] }), ["Can approve its own calls.", "Runs without a question: ^systemctl ."]);
});

test("a choice is a name where nothing is left out", () => {
  assert.equal(choiceOf({ name: "app", readOnly: false }), "app");
  assert.deepEqual(choiceOf({ name: "app", mounts: [] }), { name: "app", mounts: [] });
});
