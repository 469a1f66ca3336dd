package main

import (
	"strings"
	"testing"
)

func run(t *testing.T, lines ...string) (string, *report) {
	t.Helper()
	r := newReport()
	var out strings.Builder
	if err := r.read(strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	r.summary(&out, nil)
	return out.String(), r
}

func TestCounts(t *testing.T) {
	out, _ := run(t,
		`{"Action":"start","Package":"p"}`,
		`{"Action":"run","Package":"p","Test":"A"}`,
		`{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\n"}`,
		`{"Action":"pass","Package":"p","Test":"A","Elapsed":0.1}`,
		`{"Action":"run","Package":"p","Test":"B"}`,
		`{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:1: 1 < 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"B"}`,
		`{"Action":"run","Package":"p","Test":"C"}`,
		`{"Action":"skip","Package":"p","Test":"C"}`,
		`{"Action":"fail","Package":"p","Elapsed":1.5}`,
		`{"Action":"skip","Package":"q"}`,
	)
	if !strings.HasSuffix(out, "\n1 passed, 1 failed, 1 skipped\n") {
		t.Error(out)
	}
	for _, want := range []string{"── FAIL p B", "b_test.go:1: 1 < 2", "1.5s  p"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "=== RUN") {
		t.Errorf("noise in:\n%s", out)
	}
}

func TestNothingDisappears(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  []string
	}{
		"a package that does not build": {
			[]string{
				`{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1: undefined: x\n"}`,
				`{"ImportPath":"p [p.test]","Action":"build-fail"}`,
				`{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}`,
				`{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			},
			[]string{"undefined: x", "0 passed, 1 failed, 0 skipped"},
		},
		"a test that took the process with it": {
			[]string{
				`{"Action":"run","Package":"p","Test":"A"}`,
				`{"Action":"output","Package":"p","Test":"A","Output":"panic: test timed out\n"}`,
				`{"Action":"output","Package":"p","Output":"FAIL\tp\t2s\n"}`,
				`{"Action":"fail","Package":"p","Elapsed":2}`,
			},
			[]string{"never ended", "panic: test timed out", "0 passed, 1 failed, 0 skipped"},
		},
		"a TestMain that fails": {
			[]string{
				`{"Action":"run","Package":"p","Test":"A"}`,
				`{"Action":"pass","Package":"p","Test":"A"}`,
				`{"Action":"output","Package":"p","Output":"goleak: found 1 goroutine\n"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			[]string{"goleak: found 1 goroutine", "1 passed, 1 failed, 0 skipped"},
		},
		"words of the go command": {
			[]string{`go: cannot find main module`},
			[]string{"cannot find main module", "0 passed, 0 failed, 0 skipped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := run(t, test.lines...)
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
	}
}
