package storetest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// viewed has the hash of the content for each path.
func viewed(pathsAndHashes ...string) map[string]domain.ContentHash {
	all := map[string]domain.ContentHash{}
	for i := 0; i < len(pathsAndHashes); i += 2 {
		all[pathsAndHashes[i]] = domain.ContentHash(pathsAndHashes[i+1])
	}
	return all
}

func viewedFiles(w *world) {
	id, neighbour := w.create(), w.create()
	long := "/" + strings.Repeat("long and random ", 1000) // more than an index of Postgres takes
	all := []string{"/a", "/A", "/\xff", "/\xfe", "/a\x00", long, "/never"}
	read := func(id domain.ExecutionID, want map[string]domain.ContentHash) {
		w.Helper()
		if diff := cmp.Diff(want, ok(w.replicas[1].ViewedFiles(w.ctx, id, all...))(w)); diff != "" {
			w.Error(diff)
		}
	}
	read(id, viewed())
	w.must(w.s.SaveViewedFiles(w.ctx, tenant, id, 1, viewed("/a", "one", "/A", "two", "/\xff", "three", "/\xfe", "four", "/a\x00", "five", long, "six")))
	w.must(w.s.SaveViewedFiles(w.ctx, tenant, neighbour, 1, viewed("/a", "of the neighbour")))
	w.must(w.replicas[1].SaveViewedFiles(w.ctx, tenant, id, 1, viewed("/a", "newer")))
	read(id, viewed("/a", "newer", "/A", "two", "/\xff", "three", "/\xfe", "four", "/a\x00", "five", long, "six"))
	read(neighbour, viewed("/a", "of the neighbour"))
	if none := ok(w.s.ViewedFiles(w.ctx, id))(w); len(none) != 0 {
		w.Errorf("without a path there is %v", none)
	}

	for _, err := range atOnce(8, func(i int) error {
		return w.replicas[i%2].SaveViewedFiles(w.ctx, tenant, id, 1, viewed("/a", fmt.Sprint(i), "/A", fmt.Sprint(i)))
	}) {
		w.must(err)
	}
	if got := ok(w.s.ViewedFiles(w.ctx, id, "/a", "/A"))(w); got["/a"] != got["/A"] || got["/a"] == "newer" {
		w.Errorf("what was written together is %v", got)
	}
}

// viewedFilesAreTheDrivers: what the agent of a driver was shown that has lost the execution does not count for its successor, whose agent was not shown it.
func viewedFilesAreTheDrivers(w *world) {
	id := w.create()
	w.must(w.s.SaveViewedFiles(w.ctx, tenant, id, 1, viewed("/a", "one")))
	w.heartbeat("two")
	w.acquire("two", id)
	for name, late := range map[string]func() error{
		"the driver before": func() error { return w.s.SaveViewedFiles(w.ctx, tenant, id, 1, viewed("/a", "late")) },
		"nobody who drives": func() error { return w.s.SaveViewedFiles(w.ctx, tenant, id, 0, viewed("/a", "late")) },
		"another tenant":    func() error { return w.s.SaveViewedFiles(w.ctx, "other", id, 2, viewed("/a", "late")) },
		"of no execution": func() error {
			return w.s.SaveViewedFiles(w.ctx, tenant, domain.ExecutionID(newID()), 2, viewed("/a", "late"))
		},
	} {
		if err := late(); domain.CodeOf(err) != domain.CodeStale {
			w.Errorf("%s: %v", name, err)
		}
	}
	w.must(w.s.SaveViewedFiles(w.ctx, tenant, id, 2, viewed("/b", "two")))
	w.accepted(ending(id, 2))
	w.refused(w.s.SaveViewedFiles(w.ctx, tenant, id, 2, viewed("/b", "late")), domain.CodeStale)
	if diff := cmp.Diff(viewed("/a", "one", "/b", "two"), ok(w.s.ViewedFiles(w.ctx, id, "/a", "/b"))(w)); diff != "" {
		w.Error(diff)
	}
}
