package sessions_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/internal/tools"
	"signoff/internal/workspace"
)

// office is a folder in which a root and its child work. Both do what the test orders, by the real tools.
type office struct {
	*world
	folder string
	orders map[string]chan order // by the prompt of the execution
	over   chan struct{}
}

type order struct {
	tool      tools.Tool
	arguments map[string]any
	result    chan tools.Result
}

func newOffice(t *testing.T, s *store.Store, change ...func(*dispatch.Config)) *office {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &office{folder: folder, orders: map[string]chan order{"root": make(chan order), "child": make(chan order), "alone": make(chan order)}, over: make(chan struct{})}
	o.opens(t, s, change...)
	return o
}

// opens opens a further server over the same store and folder.
func (o *office) opens(t *testing.T, s *store.Store, change ...func(*dispatch.Config)) {
	t.Helper()
	files, err := workspace.New(o.folder)
	if err != nil {
		t.Fatal(err)
	}
	o.world = newWorld(t, s, o.script, append([]func(*dispatch.Config){func(c *dispatch.Config) { c.Workspace, c.Delegates = files, sameFolder{} }}, change...)...)
}

func (o *office) script(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	if _, done, announced := stands(t, "d1"); t.Prompt.Text == "root" && !done {
		background := false
		call := sessionstest.Delegation("d1", domain.DelegateTool, domain.DelegateArguments{Profile: "child", Prompt: "child", Write: true, Wait: &background})
		if _, err := t.Delegate("m1", call, announced); err != nil {
			return "", err
		}
	}
	for {
		select {
		case ordered := <-o.orders[t.Prompt.Text]:
			go func() {
				ordered.result <- ordered.tool.Run(ctx, t.Host, domain.ToolCall{Arguments: domain.Encode(ordered.arguments)})
			}()
		case <-o.over:
			return domain.StopEndTurn, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// sameFolder has children work in the folder of their parent.
type sameFolder struct{}

func (sameFolder) Child(_ context.Context, parent domain.Execution, call string, wanted domain.DelegateArguments, _ []domain.ContextMessage) (domain.Request, error) {
	child := request()
	child.Prompt, child.Parent, child.Requires = wanted.Prompt, parent.ParentOf(call, wanted.Profile, wanted.Write), domain.RequiresDelegation
	child.WorkingDirectory, child.Environment = parent.Request.WorkingDirectory, parent.Request.Environment
	return child, nil
}

// works starts an execution in the folder.
func (o *office) works(prompt string, change ...func(*domain.Request)) domain.ExecutionID {
	o.t.Helper()
	return o.start(append([]func(*domain.Request){func(r *domain.Request) { r.Prompt, r.WorkingDirectory = prompt, o.folder }}, change...)...)
}

func (o *office) orderedFrom(who string, tool tools.Tool, arguments map[string]any) tools.Result {
	ordered := order{tool, arguments, make(chan tools.Result, 1)}
	o.orders[who] <- ordered
	return <-ordered.result
}

func (o *office) content(path string) (content string, exists bool) {
	o.t.Helper()
	read, err := os.ReadFile(filepath.Join(o.folder, path))
	if err != nil && !os.IsNotExist(err) {
		o.t.Fatal(err)
	}
	return string(read), err == nil
}

func (o *office) put(path, content string) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.folder, path), []byte(content), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// TestNoChangeIsOverwrittenUnseen: two executions of a tree, and commands beside them, read, change and delete the same files in any order, also over
// restarts of the server. A change succeeds if and only if whoever makes it has viewed the present content, or has never viewed the file and names
// what is in it.
func TestNoChangeIsOverwrittenUnseen(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		o := newOffice(t, s)
		if err := os.Mkdir(filepath.Join(o.folder, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		root := o.works("root", delegating)
		m := &folderModel{office: o, random: rand.New(rand.NewPCG(seed, 1)), viewed: map[string]map[string]string{"root": {}, "child": {}}}
		for i := range 200 {
			if i%70 == 69 {
				o.drain()
				o.opens(t, s)
			}
			m.step()
		}
		close(o.over)
		o.ended(root)
		if m.refused < 10 || m.changed < 10 {
			t.Errorf("%d changes were refused, %d made: that proves little", m.refused, m.changed)
		}
	})
}

// folderModel is what the office must do.
type folderModel struct {
	*office
	random *rand.Rand
	viewed map[string]map[string]string // what each has viewed or written last, by path
	made   int                          // contents

	refused, changed int
}

// fresh is a content that was never there.
func (m *folderModel) fresh() string {
	m.made++
	return fmt.Sprintf("content %d\n", m.made)
}

// spelled is one of the names of a file.
func (m *folderModel) spelled(path string) string {
	return []string{path, "./" + path, "sub/../" + path, filepath.Join(m.folder, path), m.folder + "/sub//../" + path}[m.random.IntN(5)]
}

// current tells whether an execution has viewed the content that the file has now, or never viewed the file.
func (m *folderModel) current(who, path string) (viewed, current bool) {
	seen, viewed := m.viewed[who][path]
	content, _ := m.content(path)
	return viewed, !viewed || seen == content
}

func (m *folderModel) step() {
	m.t.Helper()
	who, path := []string{"root", "child"}[m.random.IntN(2)], []string{"a", "b"}[m.random.IntN(2)]
	content, exists := m.content(path)
	viewed, current := m.current(who, path)
	switch next := m.fresh(); m.random.IntN(8) {
	case 0: // by a command
		m.put(path, next)
	case 1, 2:
		result := m.orderedFrom(who, tools.Read{}, map[string]any{"path": m.spelled(path), "limit": 1})
		if (result.Failure == nil) != exists {
			m.t.Errorf("%s reads %s: %+v", who, path, result)
		}
		if exists {
			m.viewed[who][path] = content
		}
	case 3, 4:
		result := m.orderedFrom(who, tools.Write{}, map[string]any{"path": m.spelled(path), "content": next})
		m.judge(who, result, !exists || viewed && current, map[string]string{path: next})
	case 5:
		if exists {
			result := m.orderedFrom(who, tools.Edit{}, map[string]any{"path": m.spelled(path), "oldText": content, "newText": next})
			m.judge(who, result, current, map[string]string{path: next})
		}
	case 6: // both files, or none
		patch, allowed, wanted := "", true, map[string]string{}
		for _, path := range []string{"a", "b"} {
			content, exists := m.content(path)
			before, old := "/dev/null", "@@ -0,0 +1 @@\n"
			if exists {
				before, old = path, "@@ -1 +1 @@\n-"+content
				_, current := m.current(who, path)
				allowed = allowed && current
			}
			wanted[path] = m.fresh()
			patch += "--- " + before + "\n+++ " + path + "\n" + old + "+" + wanted[path]
		}
		m.judge(who, m.orderedFrom(who, tools.Patch{}, map[string]any{"patch": patch}), allowed, wanted)
	case 7:
		if exists {
			result := m.orderedFrom(who, tools.Patch{}, map[string]any{"patch": "--- " + path + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-" + content})
			m.judge(who, result, current, map[string]string{path: ""})
		}
	}
}

// judge holds the result of a change against what it must be. An empty content is that of a deleted file.
func (m *folderModel) judge(who string, result tools.Result, allowed bool, wanted map[string]string) {
	m.t.Helper()
	if !allowed {
		m.refused++
		if result.Failure == nil || result.Failure.Code != domain.CodeConflict || !strings.Contains(result.Failure.Message, "ead it") {
			m.t.Errorf("%s overwrites what it has not seen by %v: %+v", who, wanted, result)
		}
		for path, content := range wanted {
			if now, _ := m.content(path); content != "" && now == content {
				m.t.Errorf("a refused change has changed %s", path)
			}
		}
		return
	}
	m.changed++
	if result.Failure != nil {
		m.t.Errorf("%s is refused %v: %+v", who, wanted, result)
		return
	}
	for path, content := range wanted {
		if now, _ := m.content(path); now != content {
			m.t.Errorf("%s holds %q, not %q", path, now, content)
		}
		if content != "" {
			m.viewed[who][path] = content
		}
	}
}

// An execution that stands alone changes files as it likes, and pays nothing for the trees of others.
func TestAnExecutionAloneIsNeverRefused(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	id := o.works("alone")
	o.put("a", "one\n")
	for i, try := range []struct {
		tool      tools.Tool
		arguments map[string]any
	}{
		{tools.Write{}, map[string]any{"path": "a", "content": "two\n"}},
		{tools.Read{}, map[string]any{"path": "a"}},
		{tools.Edit{}, map[string]any{"path": "a", "oldText": "by a command", "newText": "three"}},
		{tools.Write{}, map[string]any{"path": "a", "content": "four\n"}},
	} {
		if result := o.orderedFrom("alone", try.tool, try.arguments); result.Failure != nil {
			t.Errorf("%d: %+v", i, result)
		}
		o.put("a", "by a command\n")
	}
	if kept, err := o.store.ViewedFiles(context.Background(), id, filepath.Join(o.folder, "a")); err != nil || len(kept) != 0 {
		t.Errorf("it keeps %v, %v", kept, err)
	}
	close(o.over)
	o.ended(id)
}

// A file that a tool could not show is not viewed. Only commands change a file that is too large to be hashed.
func TestWhatWasNotShownWasNotViewed(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	id := o.works("root", delegating)
	o.put("text", "one\n")
	o.put("binary", "\x00one\n")
	o.put("large", "one\n")
	if err := os.Truncate(filepath.Join(o.folder, "large"), domain.MaxViewedBytes+1); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		path, wanted string
		arguments    map[string]any // of read
	}{
		{"text", "text exists, and you have not read it. Read it first.", map[string]any{"path": "text", "offset": 7}},
		{"binary", "binary exists, and you have not read it. Read it first.", map[string]any{"path": "binary"}},
		{"large", "large is longer than 64 MiB; change it with a command.", map[string]any{"path": "large", "limit": 1}},
	} {
		_ = o.orderedFrom("root", tools.Read{}, try.arguments)
		result := o.orderedFrom("root", tools.Write{}, map[string]any{"path": try.path, "content": "x"})
		if result.Failure == nil || result.Failure.Message != try.wanted {
			t.Errorf("%s: %+v", try.path, result)
		}
	}
	close(o.over)
	o.ended(id)
}

// interrupted lets something happen while a file is shown.
type interrupted struct {
	domain.Host
	meanwhile func()
}

func (i interrupted) ViewFile(ctx context.Context, path string, show func(fs.File) error) error {
	return i.Host.ViewFile(ctx, path, func(file fs.File) error {
		err := show(file)
		i.meanwhile()
		return err
	})
}

// slowRead is a read of a file that others write meanwhile.
type slowRead struct {
	tools.Read
	meanwhile func()
}

func (r slowRead) Run(ctx context.Context, host domain.Host, call domain.ToolCall) tools.Result {
	return r.Read.Run(ctx, interrupted{host, r.meanwhile}, call)
}

// What counts as viewed is what was shown, and not what was written while it was shown.
func TestAFileThatChangesWhileItIsShown(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	id := o.works("root", delegating)
	write := tools.Write{}
	o.put("a", "one\n")
	written := make(chan tools.Result, 1)
	shown := o.orderedFrom("root", slowRead{meanwhile: func() {
		_ = o.orderedFrom("child", tools.Read{}, map[string]any{"path": "a"})
		written <- o.orderedFrom("child", write, map[string]any{"path": "a", "content": "two\n"})
	}}, map[string]any{"path": "a"})
	if result := <-written; result.Failure != nil || shown.Output != "one\n" {
		t.Fatalf("shown is %q, and the writing %+v", shown.Output, result)
	}
	result := o.orderedFrom("root", write, map[string]any{"path": "a", "content": "three\n"})
	if content, _ := o.content("a"); result.Failure == nil || content != "two\n" {
		t.Errorf("%+v, and the file holds %q", result, content)
	}
	close(o.over)
	o.ended(id)
}

// TestWritersAtOnce: each of two executions adds lines to one file, as fast as it can, and reads again when it is refused. Each changes files in a process
// of its own, as in an environment that shows more than the workspace. No line is lost.
func TestWritersAtOnce(t *testing.T) {
	const lines = 25
	var changing atomic.Int32
	var o *office // the environment opens its folder
	shown := defining(t, map[string]environments.Definition{"app": {Mounts: map[string]string{"/srv/app": "write"}}})
	o = newOffice(t, storetest.SQLite(t), shown, func(c *dispatch.Config) {
		c.OpenFiles = func(context.Context, string, domain.Environment) (sessions.Files, error) {
			files, err := workspace.New(o.folder)
			return &process{files, o.folder, &changing}, err
		}
	})
	o.put("log", "begin\n")
	root := o.works("root", delegating, func(r *domain.Request) {
		r.Environment, r.WorkingDirectory = domain.EnvironmentChoice{Name: "app"}, "/srv/app"
	})
	var writers sync.WaitGroup
	var wanted []string
	for _, who := range []string{"root", "child"} {
		for n := range lines {
			wanted = append(wanted, fmt.Sprintf("%s %d", who, n))
		}
		writers.Go(func() {
			for n := range lines {
				for added := false; !added; {
					read := o.orderedFrom(who, tools.Read{}, map[string]any{"path": "log"})
					result := o.orderedFrom(who, tools.Write{}, map[string]any{"path": "log", "content": read.Output + fmt.Sprintf("%s %d\n", who, n)})
					added = result.Failure == nil
					if !added && result.Failure.Code != domain.CodeConflict {
						t.Errorf("%s: %+v", who, result)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	content, _ := o.content("log")
	got := strings.Split(strings.TrimSpace(content), "\n")[1:]
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(wanted))) {
		t.Errorf("the lines are %q", got)
	}
	close(o.over)
	o.ended(root)
}

// TestOwnCallsAtOnce: the calls of one answer run at once. None is refused because of another one, and no view is left that is older than the file.
func TestOwnCallsAtOnce(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	root := o.works("root", delegating)
	write := func(n int) tools.Result {
		return o.orderedFrom("root", tools.Write{}, map[string]any{"path": "log", "content": fmt.Sprint(n)})
	}
	if first := write(0); first.Failure != nil {
		t.Fatal(first.Failure)
	}
	var calls sync.WaitGroup
	for n := range 40 {
		calls.Go(func() {
			result := write(n)
			if n%4 == 0 {
				result = o.orderedFrom("root", tools.Read{}, map[string]any{"path": "log"})
			}
			if result.Failure != nil {
				t.Errorf("call %d: %+v", n, result.Failure)
			}
		})
	}
	calls.Wait()
	if last := write(40); last.Failure != nil {
		t.Error("a view is older than the file:", last.Failure)
	}
	close(o.over)
	o.ended(root)
}

// process stands for a process that opens files for one execution: of the changes of others it knows nothing.
type process struct {
	files     *workspace.Workspace
	directory string
	changing  *atomic.Int32
}

func (p *process) Open(_ context.Context, path string) (fs.File, error) {
	return p.files.Open(p.directory, path)
}

func (p *process) List(_ context.Context, path string) ([]fs.DirEntry, error) {
	return p.files.List(p.directory, path)
}

func (p *process) Change(_ context.Context, changes []domain.FileChange, still func() error) error {
	if p.changing.Add(1) > 1 {
		return domain.Errorf(domain.CodeInternal, "two executions of the tree change files at once")
	}
	defer p.changing.Add(-1)
	return p.files.Change(p.directory, changes, still)
}

func (*process) Close() {}
