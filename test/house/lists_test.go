package house

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/llm/anthropic"
	"signoff/internal/llm/openai"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/responses"
	"signoff/internal/workspace/checkpoint"
)

// The lists of the domain are written again where people read them: on a page, and in the words of the console. Each test here holds one of them
// to its list, so that whoever adds a member learns where else it belongs.

// TestApprovalKindsAreExplained on their page, in the heading of the console's card, and in what the card offers to press.
func TestApprovalKindsAreExplained(t *testing.T) {
	same(t, "domain and docs/approvals.md", asTexts(firstCells(rows(t, "docs/approvals.md", "# Approvals"))), asTexts(domain.ApprovalKinds))
	same(t, "domain and approval.js", namesIn(t, "approval.js", "const kinds = {"), asTexts(domain.ApprovalKinds))
	same(t, "domain and decision.js", namesIn(t, "decision.js", "const kinds = {"),
		append(asTexts(domain.ApprovalKinds), "unshown")) // a card that the console cannot show whole
}

// TestStatusesAreInTheConsole: the filter of the list offers each one, and each one has a colour or stays plain on purpose.
func TestStatusesAreInTheConsole(t *testing.T) {
	var live, ended []string
	for _, status := range domain.Statuses {
		if status.Terminal() {
			ended = append(ended, string(status))
		} else {
			live = append(live, string(status))
		}
	}
	same(t, "ended of format.js", wordsIn(t, "format.js", "const ended = ["), ended)
	same(t, "live of executions.js", wordsIn(t, "executions.js", "const live = ["), live)

	plain := []domain.Status{domain.StatusQueued, domain.StatusIdle, domain.StatusCancelled}
	for _, status := range domain.Statuses {
		coloured := strings.Contains(read(t, console+"/base.css"), `[data-status="`+string(status)+`"]`)
		switch {
		case !coloured && !slices.Contains(plain, status):
			t.Errorf("base.css gives the badge of %s no colour, and it is not plain on purpose", status)
		case coloured && slices.Contains(plain, status):
			t.Errorf("the badge of %s has a colour in base.css, and is listed as plain", status)
		}
	}
}

func TestScopesAreDocumented(t *testing.T) {
	var documented []string
	for _, row := range rows(t, "docs/keys.md", "## Scopes") {
		for _, name := range inline.FindAllString(row[0], -1) { // two that belong together share a row
			documented = append(documented, strings.Trim(name, "`"))
		}
	}
	same(t, "keys.Scopes and docs/keys.md", documented, asTexts(keys.Scopes))
}

func TestWebhookTypesAreDocumented(t *testing.T) {
	same(t, "domain.NotificationTypes and docs/webhooks.md", firstCells(rows(t, "docs/webhooks.md", "## What is sent")), asTexts(domain.NotificationTypes))
}

// TestProvidersAreHeldToTheContract: each folder of a model provider stands in the table, runs the tests that every provider has to pass, and is
// a value of `provider` in the configuration.
func TestProvidersAreHeldToTheContract(t *testing.T) {
	const parent, contract = "internal/llm", "internal/llm/provider"
	tested := map[string]bool{} // the folders, and whether they run the tests of the contract
	for _, name := range goFiles(t) {
		folder := path.Dir(name)
		if path.Dir(folder) == parent && folder != contract && folder != "internal/llm/mcptools" {
			tested[folder] = tested[folder] || strings.HasSuffix(name, "_test.go") &&
				regexp.MustCompile(`\bprovidertest\.Run(Script)?\(`).MatchString(read(t, name))
		}
	}
	if len(tested) < 3 {
		t.Fatalf("only %d providers were found; the test looks in the wrong place", len(tested))
	}
	table := rows(t, "docs/configuration.md", "## The file")
	at := slices.IndexFunc(table, func(row []string) bool { return code(row[0]) == "provider" })
	if at < 0 {
		t.Fatal("docs/configuration.md has no row for `provider`")
	}
	for _, folder := range slices.Sorted(maps.Keys(tested)) {
		if !tested[folder] {
			t.Errorf("no test in %s calls providertest.Run", folder)
		}
		if name := path.Base(folder); !strings.Contains(read(t, parent+"/providers.go"), "\t"+name+".Provider,\n") {
			t.Errorf("%s does not stand in the table of internal/llm/providers.go", folder)
		} else if !regexp.MustCompile("`([a-z]+-)?" + name + "`").MatchString(table[at][1]) {
			t.Errorf("docs/configuration.md does not say what the provider %s is", name)
		}
	}
}

// TestVendorsAreDocumented: each provider has its row, with its address and its key variable.
func TestVendorsAreDocumented(t *testing.T) {
	table := rows(t, "docs/models.md", "## Vendors")
	var names []string
	for _, vendor := range append([]provider.Provider{anthropic.Provider, openai.Provider, responses.Provider}, openai.Presets()...) {
		names = append(names, vendor.Name)
		at := slices.IndexFunc(table, func(row []string) bool { return code(row[0]) == vendor.Name })
		if at < 0 {
			continue // told below
		}
		if where := table[at][1]; !strings.Contains(where, vendor.Address) || !strings.Contains(where, vendor.KeyEnv) || len(table[at]) < 6 {
			t.Errorf("docs/models.md says of %s: %s", vendor.Name, where)
		}
	}
	same(t, "docs/models.md and the providers", firstCells(table), names)
}

func asTexts[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, word := range list {
		all[i] = string(word)
	}
	return all
}

// literal is what stands in a file of the console between begin, with its bracket, and the bracket that closes it.
func literal(t *testing.T, file, begin string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, console+"/"+file), begin)
	text, _, closed := strings.Cut(text, map[byte]string{'{': "}", '[': "]"}[begin[len(begin)-1]])
	if !found || !closed {
		t.Fatalf("%s has no %q", file, begin)
	}
	return text
}

// namesIn are the names of an object of the console.
func namesIn(t *testing.T, file, begin string) (names []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`(?:^|, ) *(\w+):`).FindAllStringSubmatch(literal(t, file, begin), -1) {
		names = append(names, found[1])
	}
	return names
}

// wordsIn are the texts of an array of the console.
func wordsIn(t *testing.T, file, begin string) (words []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(literal(t, file, begin), -1) {
		words = append(words, found[1])
	}
	return words
}

// TestWhatCheckpointsCoverIsDocumented: the reasons, the folders that are passed over, and the limits.
func TestWhatCheckpointsCoverIsDocumented(t *testing.T) {
	const page, code = "docs/checkpoints.md", "internal/workspace/checkpoint/coverage.go"
	reasons := rows(t, page, "## What is covered")
	same(t, "checkpoint.Reason and "+page, firstCells(reasons), slices.Collect(maps.Values(constants(t, code, "Reason"))))

	var documented, real []string
	for _, row := range rows(t, page, "### Folders that are listed only") {
		documented = append(documented, strings.Trim(row[0], "`")+" "+row[1])
	}
	when := map[string]string{"generatedAlways": "always", "generatedIfIgnored": "if ignored"}
	for _, pair := range regexp.MustCompile(`"([^"]+)": (generated\w+)`).FindAllStringSubmatch(read(t, code), -1) {
		real = append(real, pair[1]+" "+when[pair[2]])
	}
	same(t, "generatedFolders and "+page, documented, real)

	for reason, limit := range map[checkpoint.Reason]string{
		checkpoint.TooLarge:        fmt.Sprintf("more than %d MiB", checkpoint.DefaultLimits.File>>20),
		checkpoint.IgnoredTooLarge: fmt.Sprintf("more than %d MiB", checkpoint.DefaultLimits.IgnoredFile>>20),
		checkpoint.IgnoredTooMany:  fmt.Sprintf("the first %d,%03d of", checkpoint.DefaultLimits.IgnoredFiles/1000, checkpoint.DefaultLimits.IgnoredFiles%1000),
	} {
		if !slices.ContainsFunc(reasons, func(row []string) bool { return row[0] == "`"+string(reason)+"`" && strings.Contains(row[1], limit) }) {
			t.Errorf("%s does not say of %s: %s", page, reason, limit)
		}
	}
	for name, bound := range map[string]int64{"maxBytesPerWorkspace": checkpoint.DefaultBounds.Workspace, "maxBytes": checkpoint.DefaultBounds.All} {
		if !slices.ContainsFunc(rows(t, "docs/configuration.md", "### checkpoints"), func(row []string) bool {
			return row[0] == "`"+name+"`" && row[1] == fmt.Sprint(bound)
		}) {
			t.Errorf("docs/configuration.md does not say that the default of checkpoints.%s is %d", name, bound)
		}
	}
}
