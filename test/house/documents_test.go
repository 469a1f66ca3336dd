package house

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"signoff/internal/approvals"
	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// rows are the lines of the table below a heading, cut into cells. The head of the table is left out.
func rows(t *testing.T, document, heading string) [][]string {
	t.Helper()
	text := read(t, document)
	_, section, found := strings.Cut("\n"+text, "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", document, heading)
	}
	var table [][]string
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			break
		}
		if !strings.HasPrefix(line, "|") {
			if len(table) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		table = append(table, cells)
	}
	if len(table) < 3 {
		t.Fatalf("%s has no table below %q", document, heading)
	}
	return table[2:]
}

// code is what a cell says between backticks, or else the cell.
func code(cell string) string {
	if inner, ok := strings.CutPrefix(cell, "`"); ok {
		inner, _, _ = strings.Cut(inner, "`")
		return inner
	}
	return cell
}

func firstCells(table [][]string) []string {
	var all []string
	for _, row := range table {
		all = append(all, code(row[0]))
	}
	return all
}

// same compares two lists as sets, and refuses doubles.
func same[T ~string](t *testing.T, what string, documented, real []T) {
	t.Helper()
	documented, real = slices.Sorted(slices.Values(documented)), slices.Sorted(slices.Values(real))
	if len(real) == 0 {
		t.Fatalf("%s: nothing was found in the code; the test looks in the wrong place", what)
	}
	if diff := cmp.Diff(real, documented); diff != "" {
		t.Errorf("%s: code (-) and document (+) differ:\n%s", what, diff)
	}
}

func TestStatesAreDrawnAsTheyAre(t *testing.T) {
	_, diagram, found := strings.Cut(read(t, "docs/states.md"), "```mermaid\n")
	diagram, _, closed := strings.Cut(diagram, "```")
	if !found || !closed || !strings.HasPrefix(diagram, "stateDiagram-v2\n") {
		t.Fatal("docs/states.md has no state diagram")
	}
	var drawn, real []string
	for line := range strings.Lines(diagram) {
		if strings.Contains(line, "-->") {
			drawn = append(drawn, strings.Join(strings.Fields(line), " "))
		}
	}
	real = append(real, "[*] --> "+string(domain.StatusQueued))
	for _, from := range domain.Statuses {
		for _, to := range domain.Statuses {
			if from.CanBecome(to) {
				real = append(real, string(from)+" --> "+string(to))
			}
		}
		if from.Terminal() {
			real = append(real, string(from)+" --> [*]")
		}
	}
	same(t, "arrows", drawn, real)

	var statuses []string
	for _, status := range domain.Statuses {
		statuses = append(statuses, string(status))
	}
	same(t, "statuses", firstCells(rows(t, "docs/states.md", "## What each one means")), statuses)
}

// TestSettingsAreDocumented holds the names and defaults of the Config of cmd/server against the table.
func TestSettingsAreDocumented(t *testing.T) {
	defaults := settings(t)
	var documented []string
	for _, row := range rows(t, "docs/configuration.md", "## Variables") {
		name, ours := strings.CutPrefix(code(row[0]), "SIGNOFF_")
		if !ours {
			t.Errorf("docs/configuration.md lists %s among the variables", row[0])
			continue
		}
		documented = append(documented, name)
		fallback := code(row[1])
		if fallback == "none" {
			fallback = ""
		}
		if real, known := defaults[name]; known && real != fallback {
			t.Errorf("the default of SIGNOFF_%s is %q, not %q", name, real, fallback)
		}
	}
	same(t, "settings", documented, slices.Collect(maps.Keys(defaults)))

	mention := regexp.MustCompile(`SIGNOFF_[A-Z_]*[A-Z]`)
	for _, name := range documents(t) {
		for _, variable := range mention.FindAllString(read(t, name), -1) {
			setting := strings.TrimPrefix(variable, "SIGNOFF_")
			clients := setting == "URL" || setting == "TOKEN" || strings.HasPrefix(setting, "TEST")
			if _, known := defaults[setting]; !clients && !known {
				t.Errorf("%s speaks of %s, which is no setting", name, variable)
			}
		}
	}
}

// settings returns the default of each variable that a field of Config is read from.
func settings(t *testing.T) map[string]string {
	t.Helper()
	defaults := map[string]string{}
	ast.Inspect(parse(t, "cmd/server/config.go", parser.SkipObjectResolution), func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Config" {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			defaults[variable(field.Names[0].Name)] = reflect.StructTag(tag).Get("default")
		}
		return false
	})
	return defaults
}

func textsIn(node ast.Node) (texts []string) {
	ast.Inspect(node, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}

var words = regexp.MustCompile(`[A-Z]+[a-z]*`)

// variable is the name that envconfig reads a field from: DatabaseURL is DATABASE_URL.
func variable(field string) string {
	return strings.ToUpper(strings.Join(words.FindAllString(field, -1), "_"))
}

func TestEventsAreDocumented(t *testing.T) {
	documented := firstCells(rows(t, "docs/events.md", "## The types"))
	same(t, "domain and docs/events.md", documented, slices.Sorted(maps.Values(constants(t, "internal/domain/event.go", "EventType"))))

	var contract struct {
		Components struct {
			Schemas struct {
				Event struct {
					Discriminator struct {
						Mapping map[string]string `yaml:"mapping"`
					} `yaml:"discriminator"`
				} `yaml:"Event"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "api/openapi.yaml")), &contract); err != nil {
		t.Fatal(err)
	}
	same(t, "api/openapi.yaml and docs/events.md", documented,
		slices.Collect(maps.Keys(contract.Components.Schemas.Event.Discriminator.Mapping)))
}

// constants returns the constants of a type in a file, by name.
func constants(t *testing.T, name, of string) map[string]string {
	t.Helper()
	found := map[string]string{}
	ast.Inspect(parse(t, name, parser.SkipObjectResolution), func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || spec.Type == nil || len(spec.Values) != 1 {
			return true
		}
		switch typed := spec.Type.(type) {
		case *ast.Ident:
			ok = typed.Name == of
		case *ast.SelectorExpr:
			ok = typed.Sel.Name == of
		default:
			ok = false
		}
		if ok {
			found[spec.Names[0].Name] = strings.Join(textsIn(spec.Values[0]), "")
		}
		return true
	})
	return found
}

func TestErrorsAreDocumented(t *testing.T) {
	codes := constants(t, "internal/domain/error.go", "Code")
	maps.Copy(codes, constants(t, "internal/http/problem.go", "Code"))
	var real, documented []string
	ast.Inspect(parse(t, "internal/http/problem.go", parser.SkipObjectResolution), func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "answers" {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			pair := element.(*ast.KeyValueExpr)
			name := pair.Key
			if selector, ok := name.(*ast.SelectorExpr); ok {
				name = selector.Sel
			}
			status := pair.Value.(*ast.CompositeLit).Elts[0].(*ast.BasicLit).Value
			real = append(real, codes[name.(*ast.Ident).Name]+" "+status)
		}
		return false
	})
	for _, row := range rows(t, "docs/errors.md", "## Codes of answers") {
		documented = append(documented, code(row[0])+" "+row[1])
	}
	same(t, "codes and statuses", documented, real)

	for _, row := range rows(t, "docs/errors.md", "## How executions and tool calls fail") {
		if name := strings.Trim(row[1], "*"); !slices.Contains(slices.Collect(maps.Values(codes)), name) {
			t.Errorf("docs/errors.md explains the code %q, which does not exist", name)
		}
	}
}

// TestThePolicyIsDocumented: the words that say who decided, and the classes that capabilities have.
func TestThePolicyIsDocumented(t *testing.T) {
	const page = "docs/policy.md"
	var decided []string
	for _, row := range rows(t, page, "## The nine steps") {
		decided = append(decided, code(row[3]))
	}
	decided = append(decided, firstCells(rows(t, page, "### Who else decides"))...)
	slices.Sort(decided)
	same(t, "sources of decisions", slices.Compact(decided),
		slices.Collect(maps.Values(constants(t, "internal/approvals/policy.go", "Source"))))

	for _, row := range rows(t, page, "## Capabilities") {
		class := domain.Class(code(row[0]))
		if want := domain.DefaultCapabilities.Of(class); !slices.Contains(domain.Classes, class) || code(row[1]) != string(want) {
			t.Errorf("%s says that the default of %s is %s, and it is %s", page, class, row[1], want)
		}
	}
}

// TestTheExamplePolicyDoesWhatItsPageSays: the rules stand there as they are tested, and do what the table says.
func TestTheExamplePolicyDoesWhatItsPageSays(t *testing.T) {
	const page, heading = "docs/policy.md", "### An example that looks around"
	_, section, _ := strings.Cut(read(t, page), heading)
	_, example, _ := strings.Cut(section, "```json\n")
	example, _, _ = strings.Cut(example, "```")
	var shown domain.BashPolicy
	if err := json.Unmarshal([]byte(example), &shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shell.Example, shown); diff != "" {
		t.Errorf("shell.Example (-) and %s (+) differ:\n%s", page, diff)
	}
	policy, err := approvals.NewPolicy(domain.Request{
		Capabilities: domain.DefaultCapabilities, Tools: domain.ToolSettings{BashPolicy: &shell.Example},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows(t, page, heading) {
		command := strings.ReplaceAll(code(row[0]), `\|`, "|")
		call := domain.ToolCall{Tool: "bash", Class: domain.ClassExecute, Action: domain.Action{Command: command}}
		got := policy.Judge(t.Context(), call, "", time.Now())
		if string(got.Verdict) != code(row[1]) || string(got.By) != code(row[2]) {
			t.Errorf("%s: %s by %s, not %s by %s (%s)", command, got.Verdict, got.By, row[1], row[2], got.Reason)
		}
	}
}

// documents are the pages that people read. Texts for models and fixtures lie beside the code and are none.
func documents(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(files(t), func(name string) bool { return path.Ext(name) != ".md" || below(name, "internal") })
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	inline   = regexp.MustCompile("`[^`\n]+`")
	target   = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	testName = regexp.MustCompile("`((?:internal|cmd|test|deploy|migrations|scripts|api)[\\w/]*)\\.((?:Test|Fuzz)\\w+)`")
	place    = regexp.MustCompile("`((?:internal|cmd|test|deploy|migrations|scripts|api|docs)/[\\w./-]*)`")
)

func TestLinksResolve(t *testing.T) {
	for _, name := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, name), -1) {
			where, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(where, "://") || strings.HasPrefix(where, "mailto:") {
				continue
			}
			to := name
			if where != "" {
				to = path.Join(path.Dir(name), where)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, found[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, found[1])
			}
		}
	}
}

// anchors are the headings of a page as they are linked to.
func anchors(text string) (all []string) {
	for line := range strings.Lines(fenced.ReplaceAllString(text, "")) {
		heading, is := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " ")
		if !is || !strings.HasPrefix(line, "#") {
			continue
		}
		slug := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}

// TestWhatIsNamedExists: a folder, a file, a test or a make target that a page names is there.
func TestWhatIsNamedExists(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, name := range documents(t) {
		text := read(t, name)
		for _, piece := range commands(text) {
			for _, found := range target.FindAllStringSubmatch(piece, -1) {
				if !regexp.MustCompile(`(?m)^` + found[1] + `:`).MatchString(makefile) {
					t.Errorf("%s says make %s, and there is no such target", name, found[1])
				}
			}
		}
		for _, found := range place.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, found[1])); err != nil && !testName.MatchString(found[0]) {
				t.Errorf("%s names %s, which is not there", name, found[1])
			}
		}
		for _, found := range testName.FindAllStringSubmatch(text, -1) {
			if !exists(t, found[1], found[2]) {
				t.Errorf("%s names the test %s.%s, which does not exist", name, found[1], found[2])
			}
		}
	}
}

// commands are the parts of a page that are code: prose may make anything.
func commands(text string) (all []string) {
	all = fenced.FindAllString(text, -1)
	text = fenced.ReplaceAllString(text, "")
	all = append(all, inline.FindAllString(text, -1)...)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") {
			line, _, _ = strings.Cut(line, "#")
			all = append(all, line)
		}
	}
	return all
}

func exists(t *testing.T, folder, test string) bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range paths {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}

// TestEveryGuaranteeNamesItsTests: a guarantee that no test proves is a wish.
func TestEveryGuaranteeNamesItsTests(t *testing.T) {
	table := rows(t, "docs/reliability.md", "## Guarantees")
	if len(table) < 10 {
		t.Errorf("docs/reliability.md has only %d guarantees", len(table))
	}
	for _, row := range table {
		if len(row) != 3 || !testName.MatchString(row[2]) {
			t.Errorf("this guarantee names no test: %s", strings.Join(row, " | "))
			continue
		}
		for _, found := range inline.FindAllString(row[2], -1) {
			if !testName.MatchString(found) && !strings.HasSuffix(found, ".test.js`") { // that a file is there is checked above
				t.Errorf("%s is no test that could be found", found)
			}
		}
	}
}
