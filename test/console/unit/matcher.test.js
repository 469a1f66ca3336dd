// What a permission rule covers, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { consequence, matcherParts, stateOf } from "../../../internal/console/web/matcher.js";

const cases = [
  [{ tool: "bash", command: "git log *" }, ["calls of the tool bash", "commands that begin with git log"]],
  [{ command: "df -h", agent: "internal" }, ["made by the agent internal", "exactly the command df -h"]],
  [{ host: "*" }, ["to any host"]],
  [{ host: "*.example.com" }, ["to hosts below example.com"]],
  [{ host: "example.com" }, ["to the host example.com"]],
  [{ class: "none" }, ["that need no capability"]],
  [{ class: "write", path: "/srv/**" }, ["that need the capability write", "on paths like /srv/**"]],
  [{ argumentsHash: "abc", mcpServer: "github" }, ["exactly the call with the hash abc", "tools of the MCP server github"]],
  [{ mcpServer: "files", arguments: { path: "/srv/**", "/deep/0": "x" } }, ["tools of the MCP server files", "with arguments like path=/srv/**, /deep/0=x"]],
  [{ tool: "bash", environment: "app", environmentDigest: "9f" }, ["calls of the tool bash", "in the environment app", "as it was defined with the digest 9f"]],
  [{ moon: { full: true }, tool: "x" }, ["calls of the tool x", 'moon {"full":true}']],
];
for (const [matcher, expected] of cases) {
  test(`in words: ${JSON.stringify(matcher)}`, () => {
    assert.deepEqual(matcherParts(matcher).map(({ text, value }) => (value === undefined ? text : `${text} ${value}`)), expected);
  });
}

test("a rule holds until it is revoked or its time is over", () => {
  const now = Date.parse("2026-07-01T12:00:00Z");
  assert.equal(stateOf({ revokedAt: null, expiresAt: null }, now), "holds");
  assert.equal(stateOf({ revokedAt: null, expiresAt: "2026-07-01T12:00:01Z" }, now), "holds");
  assert.equal(stateOf({ revokedAt: null, expiresAt: "2026-07-01T12:00:00Z" }, now), "expired");
  assert.equal(stateOf({ revokedAt: "2026-07-01T11:00:00Z", expiresAt: "2026-07-01T11:30:00Z" }, now), "revoked");
});

test("each effect says what its end means, also one that is not known", () => {
  assert.equal(new Set(["allow", "ask", "deny", "moon", "constructor"].map(consequence)).size, 4);
});
