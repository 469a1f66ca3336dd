//go:build mcp && linux

package mcp

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// revisions are those whose scenarios have to pass.
var revisions = []string{"2025-11-25", "2026-07-28"}

// skipped are the scenarios that are not run, each with its reason. Each is one of the kit's extensions, which the protocol makes optional.
var skipped = map[string]string{
	"auth/enterprise-managed-authorization": "The extension has a company's identity provider hand out tokens. Signoff signs in at the authorization server itself.",
	"auth/dpop":                             "The extension binds tokens to a key. Signoff sends bearer tokens only.",
	"auth/dpop-nonce":                       "The extension binds tokens to a key. Signoff sends bearer tokens only.",
	"auth/wif-jwt-bearer":                   "The extension signs in with the identity of a workload. Signoff has none.",
	"auth/client-credentials-jwt":           "The extension signs a client in with a key of its own. Signoff's client credentials are an id and a secret.",
	"sep-2640-client-no-prefetch":           "The extension is about skills, which Signoff does not load from servers.",
	"sep-2640-client-verify-digest":         "The extension is about skills, which Signoff does not load from servers.",
	"sep-2640-client-verify-size":           "The extension is about skills, which Signoff does not load from servers.",
	"sep-2640-client-verify-frontmatter":    "The extension is about skills, which Signoff does not load from servers.",
}

// scenario is a line of the kit's list.
type scenario struct {
	name     string
	versions []string // of the protocol; an extension has none
}

func (s scenario) extension() bool { return slices.Contains(s.versions, "extension") }

// TestConformance runs the conformance kit of the protocol's makers against internal/mcp.
func TestConformance(t *testing.T) {
	t.Parallel()
	all := scenarios(t)
	for name := range skipped {
		if i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name }); i < 0 || !all[i].extension() {
			t.Errorf("%s is skipped, but is no extension", name)
		}
	}
	ran := 0
	for _, s := range all {
		if skipped[s.name] != "" {
			continue
		}
		for _, revision := range append([]string{"extension"}, revisions...) {
			if !slices.Contains(s.versions, revision) {
				continue
			}
			ran++
			t.Run(revision+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				s.run(t, revision)
			})
		}
	}
	t.Logf("%d scenarios run, %d extensions skipped", ran, len(skipped))
}

// scenarios are those for clients. Of the other versions only older ones exist; each is of one of both revisions, too, or was removed before.
func scenarios(t *testing.T) (all []scenario) {
	t.Helper()
	node, kit := node(t, "conformance/dist/index.js")
	listed := must2(exec.CommandContext(t.Context(), node, kit, "list").CombinedOutput())(t)
	_, clients, _ := strings.Cut(string(listed), "Client scenarios")
	clients, _, _ = strings.Cut(clients, "Authorization server scenarios")
	for _, found := range regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`).FindAllStringSubmatch(clients, -1) {
		all = append(all, scenario{found[1], strings.Split(found[2], ",")})
	}
	if len(all) < 40 {
		t.Fatalf("the kit lists %d scenarios:\n%s", len(all), listed)
	}
	return all
}

// passed is what the kit prints when a check was made: it is content with a client that does nothing.
var passed = regexp.MustCompile(`Passed: [1-9]`)

// run has the kit start its server and our client. The kit exits with 0 if all its checks hold, without a warning.
func (s scenario) run(t *testing.T, revision string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	node, kit := node(t, "conformance/dist/index.js")
	arguments := []string{kit, "client", "--command", conformance, "--scenario", s.name, "--timeout", "60000"}
	if !s.extension() { // which the kit runs at a version of its own choice
		arguments = append(arguments, "--spec-version", revision)
	}
	command := exec.CommandContext(ctx, node, arguments...)
	command.Dir, command.WaitDelay = t.TempDir(), time.Second
	output, err := command.CombinedOutput()
	if err != nil || !passed.Match(output) {
		t.Errorf("%v\n%s", err, output)
	}
}
