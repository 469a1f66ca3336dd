package checkpoint

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAPartIsAsGoodAsTheWhole: after changes to known paths, a checkpoint that looks at those alone holds what one that looks at everything holds.
func TestAPartIsAsGoodAsTheWhole(t *testing.T) {
	names := []string{"a", "b", "build", "node_modules", ".gitignore", ".git", "secret"}
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		workspace := filepath.Join(folder, "workspace")
		must(t, os.Mkdir(workspace, 0o755))
		open := func(name string) *Series {
			r, err := OpenRepository(plain{}, filepath.Join(folder, name))
			must(t, err)
			return NewSeries(Config{
				Repository: r, Workspace: workspace, Name: "e1", Hidden: []string{filepath.Join(workspace, "secret"), filepath.Join(workspace, "a/secret")},
				Limits: Limits{File: 20, IgnoredFile: 10, IgnoredFiles: rapid.IntRange(1, 5).Draw(rt, "ignored files")},
			})
		}
		part := open("part")
		whole := open("whole")
		whole.limits = part.limits
		if rapid.Bool().Draw(rt, "rules") {
			put(t, workspace, ".gitignore", rapid.SampledFrom([]string{"build\n", "b\n", "a/build/\nb\n"}).Draw(rt, "ignored"), 0o644)
		}
		for n := range rapid.IntRange(2, 3).Draw(rt, "checkpoints") {
			before := disk(t, workspace)
			for range rapid.IntRange(0, 5).Draw(rt, "steps") {
				disturbNames(rt, workspace, names)
			}
			paths := named(rt, before, disk(t, workspace))
			got, err := part.TakePaths(t.Context(), paths, ours)
			must(t, err)
			want := take(t, whole)
			if diff := cmp.Diff(want.NotCovered, got.NotCovered); diff != "" {
				rt.Fatalf("checkpoint %d of %q: what is not covered by the whole (-) and by the part (+) differ:\n%s", n, paths, diff)
			}
			if diff := cmp.Diff(whole.listed.entries, part.listed.entries); diff != "" {
				rt.Fatalf("checkpoint %d of %q: the whole (-) and the part (+) differ:\n%s", n, paths, diff)
			}
			if diff := cmp.Diff(want.Changes, got.Changes); diff != "" {
				rt.Fatalf("checkpoint %d of %q: the changes of the whole (-) and of the part (+) differ:\n%s", n, paths, diff)
			}
			read, err := part.repository.listing(t.Context(), got.ID)
			must(t, err)
			if diff := cmp.Diff(part.listed.entries, read.entries); diff != "" {
				rt.Fatalf("checkpoint %d of %q: the part (-) and what was read back (+) differ:\n%s", n, paths, diff)
			}
			if want.Files != got.Files || want.Bytes != got.Bytes {
				rt.Fatalf("checkpoint %d of %q: %d files of %d bytes; want %d of %d", n, paths, got.Files, got.Bytes, want.Files, want.Bytes)
			}
		}
	})
}

// named are the paths that a file tool would name: those that differ, without the folders that have come or gone with what they hold.
func named(rt *rapid.T, before, after map[string]string) []string {
	all := changed(before, after)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(path string) bool {
		stays := strings.HasPrefix(before[path], "d") && strings.HasPrefix(after[path], "d")
		return !stays && holds(all, path) && rapid.Bool().Draw(rt, "the folder is not named")
	})
}

// counting counts the programs that run.
type counting struct {
	Runner
	runs *int
}

func (c counting) Run(ctx context.Context, command Command, in io.Reader, out io.Writer) error {
	*c.runs++
	return c.Runner.Run(ctx, command, in, out)
}

// TestAPartCostsNoWalk: the checkpoint of a path neither looks at the others nor, where that path is as it was, starts git.
func TestAPartCostsNoWalk(t *testing.T) {
	s, workspace := series(t)
	s.now = func() time.Time { return time.Now().Add(time.Minute) }
	put(t, workspace, ".gitignore", "*.log\n/build\n", 0o644)
	put(t, workspace, "deep/inner/one", "1\n", 0o644)
	put(t, workspace, "deep/two", "2\n", 0o644)
	put(t, workspace, "build/made", "x", 0o644)
	first := take(t, s)
	runs := 0
	s.repository.runner = counting{plain{}, &runs}
	paths := []string{"deep/inner/one", "never/was", "build/made", "deep/inner/../two", ".gitignore"}
	point, err := s.TakePaths(t.Context(), paths, ours)
	must(t, err)
	if point.ID != first.ID || len(point.Changes) != 0 || runs != 0 || point.Read != 0 || point.Files != 3 {
		t.Errorf("nothing has changed: %+v, and %d programs ran", point, runs)
	}

	put(t, workspace, "deep/two", "by somebody else\n", 0o644)
	put(t, workspace, "deep/inner/one", "one\n", 0o644)
	put(t, workspace, "new/file", "new\n", 0o644)
	before := s.read
	point, err = s.TakePaths(t.Context(), []string{"deep/inner/one", "new/file"}, ours)
	must(t, err)
	var got []string
	for _, one := range point.Changes {
		got = append(got, fmt.Sprintf("%s %s by %s", one.Kind, one.Path, one.By))
	}
	if want := []string{"modified deep/inner/one by ours", "added new/file by ours"}; !cmp.Equal(want, got) || runs != 1 || point.Read != 8 {
		t.Errorf("got %q, with %d programs, and %d bytes read", got, runs, point.Read)
	}
	if len(before) != len(s.read) {
		t.Error("what was read before was copied")
	}
	rest := take(t, s)
	if len(rest.Changes) != 1 || rest.Changes[0].Path != "deep/two" {
		t.Errorf("the rest is left to the next checkpoint: %+v", rest.Changes)
	}
	if _, err := s.TakePaths(t.Context(), []string{"../elsewhere"}, ours); err == nil {
		t.Error("a path outside is refused")
	}
}

// TestWhereTheRestCannotStay: a change whose effect goes beyond its path is found all the same.
func TestWhereTheRestCannotStay(t *testing.T) {
	remove := func(path string) func(*testing.T, string) {
		return func(t *testing.T, workspace string) { must(t, os.RemoveAll(filepath.Join(workspace, path))) }
	}
	for name, test := range map[string]struct {
		before func(t *testing.T, workspace string)
		change func(t *testing.T, workspace string)
		paths  []string
	}{
		"a .gitignore that names a folder": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "build/out", "x", 0o644) },
			change: func(t *testing.T, workspace string) { put(t, workspace, ".gitignore", "build\n", 0o644) },
			paths:  []string{".gitignore"},
		},
		"a .gitignore that is gone with its folder": {
			before: func(t *testing.T, workspace string) {
				put(t, workspace, "a/.gitignore", "build\n", 0o644)
				put(t, workspace, "a/build/out", "x", 0o644)
				put(t, workspace, "a/b", "x", 0o644)
			},
			change: remove("a/.gitignore"), paths: []string{"a/.gitignore"},
		},
		"a repository that is none any more": {
			before: func(t *testing.T, workspace string) {
				put(t, workspace, "a/.git/HEAD", "x", 0o644)
				put(t, workspace, "a/b", "x", 0o644)
			},
			change: remove("a/.git"), paths: []string{"a/.git"},
		},
		"a repository that has come": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "a/b", "x", 0o644) },
			change: func(t *testing.T, workspace string) { put(t, workspace, "a/.git/HEAD", "x", 0o644) }, paths: []string{"a/.git/HEAD"},
		},
		"a folder that is a file now": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "a/b/c", "x", 0o644) },
			change: func(t *testing.T, workspace string) { remove("a")(t, workspace); put(t, workspace, "a", "x", 0o644) }, paths: []string{"a/b/c"},
		},
		"a file that is a folder now": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "a", "x", 0o644) },
			change: func(t *testing.T, workspace string) {
				remove("a")(t, workspace)
				put(t, workspace, "a/b/c", "x", 0o644)
			}, paths: []string{"a/b/c"},
		},
		"a folder that is a link now": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "a/b", "x", 0o644) },
			change: func(t *testing.T, workspace string) {
				must(t, os.Rename(filepath.Join(workspace, "a"), filepath.Join(workspace, "other")))
				must(t, os.Symlink("other", filepath.Join(workspace, "a")))
				put(t, workspace, "a/b", "y", 0o644)
			},
			paths: []string{"a/b"},
		},
		"a file more than the bound": {
			before: func(t *testing.T, workspace string) {
				put(t, workspace, ".gitignore", "*.log\n", 0o644)
				put(t, workspace, "b.log", "x", 0o644)
				put(t, workspace, "c.log", "x", 0o644)
			},
			change: func(t *testing.T, workspace string) { put(t, workspace, "a.log", "x", 0o644) }, paths: []string{"a.log"},
		},
		"a file less than the bound": {
			before: func(t *testing.T, workspace string) {
				put(t, workspace, ".gitignore", "*.log\n", 0o644)
				put(t, workspace, "a.log", "x", 0o644)
				put(t, workspace, "b.log", "x", 0o644)
				put(t, workspace, "c.log", "x", 0o644)
			},
			change: remove("a.log"), paths: []string{"a.log"},
		},
		"a file that has become small enough": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "a", strings.Repeat("x", 30), 0o644) },
			change: func(t *testing.T, workspace string) { put(t, workspace, "a", "x", 0o644) }, paths: []string{"a"},
		},
		"a folder below one that is not covered": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "node_modules/a/b", "x", 0o644) },
			change: func(t *testing.T, workspace string) { put(t, workspace, "node_modules/c", "x", 0o644) }, paths: []string{"node_modules/c"},
		},
		"a name that is not UTF-8": {
			before: func(t *testing.T, workspace string) { put(t, workspace, "\xff", "x", 0o644) },
			change: remove("\xff"), paths: []string{"\xff"},
		},
		"the workspace itself": {change: func(t *testing.T, workspace string) { put(t, workspace, "a", "x", 0o644) }, paths: []string{"."}},
	} {
		t.Run(name, func(t *testing.T) {
			part, workspace := series(t)
			part.limits = Limits{File: 20, IgnoredFile: 10, IgnoredFiles: 2}
			if test.before != nil {
				test.before(t, workspace)
			}
			take(t, part)
			test.change(t, workspace)
			_, err := part.TakePaths(t.Context(), test.paths, ours)
			must(t, err)
			r, err := OpenRepository(plain{}, filepath.Join(t.TempDir(), "repository"))
			must(t, err)
			whole := NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Limits: part.limits})
			take(t, whole)
			if diff := cmp.Diff(whole.listed.entries, part.listed.entries); diff != "" {
				t.Errorf("the whole (-) and the part (+) differ:\n%s", diff)
			}
			if diff := cmp.Diff(whole.listed.notCovered, part.listed.notCovered); diff != "" {
				t.Errorf("what is not covered by the whole (-) and by the part (+) differ:\n%s", diff)
			}
		})
	}
}
