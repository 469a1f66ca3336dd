// The page that an MCP server wants opened is a link only if a browser opens it as a page, and what a server claims of its tool is said as a claim.

import assert from "node:assert/strict";
import { test } from "node:test";

import { claimsOf } from "../../../internal/console/web/mcpservers.js";
import { pageOf } from "../../../internal/console/web/mcptool.js";

test("only a page of the web is a link", () => {
  assert.equal(pageOf("https://Bank.example:8443/in?x=1").host, "bank.example:8443");
  assert.equal(pageOf("http://127.0.0.1/").host, "127.0.0.1");
  for (const other of ["javascript:alert(1)", "data:text/html,x", "https://bank.example@evil.example/", "//bank.example", "", undefined, null, 7, {}]) {
    assert.equal(pageOf(other), null, String(other));
  }
});

test("a hint is a claim of the server", () => {
  assert.deepEqual(claimsOf({}), []);
  assert.deepEqual(claimsOf({ readOnlyHint: false, destructiveHint: false }), []);
  assert.deepEqual(claimsOf({ readOnlyHint: true, destructiveHint: true }), ["says: read-only", "says: destructive"]);
});
