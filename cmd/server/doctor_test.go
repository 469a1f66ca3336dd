package main

import (
	"strings"
	"testing"

	"signoff/internal/secrets"
	"signoff/internal/store"
)

func TestDoctorOfDatabases(t *testing.T) {
	local := store.FileSystem{Local: true, Kept: true, Free: 2 << 30}
	for name, test := range map[string]struct {
		look func(d *diagnosis)
		mark string
		says string
	}{
		"a local disk":  {func(d *diagnosis) { d.disk(local) }, "ok", "2048 MB"},
		"a full disk":   {func(d *diagnosis) { d.disk(store.FileSystem{Local: true, Kept: true, Free: 1 << 20}) }, "-", "1 MB"},
		"memory":        {func(d *diagnosis) { d.disk(store.FileSystem{Name: "tmpfs", Local: true, Free: 2 << 30}) }, "-", "tmpfs"},
		"a remote disk": {func(d *diagnosis) { d.disk(store.FileSystem{Name: "nfs", Kept: true, Free: 2 << 30}) }, "FAIL", "nfs"},
		"room":          {func(d *diagnosis) { d.connections(17, 97) }, "ok", "17 of 97"},
		"room for one":  {func(d *diagnosis) { d.connections(17, 30) }, "-", "max_connections"},
		"no room":       {func(d *diagnosis) { d.connections(17, 10) }, "FAIL", "max_connections"},
		"new enough":    {func(d *diagnosis) { d.postgresVersion(150004) }, "ok", "15.4"},
		"too old":       {func(d *diagnosis) { d.postgresVersion(120022) }, "FAIL", "12.22"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			d := &diagnosis{out: &out, masker: secrets.NewMasker()}
			test.look(d)
			if !strings.HasPrefix(out.String(), test.mark+" ") || !strings.Contains(out.String(), test.says) || d.broken != (test.mark == "FAIL") {
				t.Errorf("%s", &out)
			}
		})
	}
}

func TestFaultsOfSettings(t *testing.T) {
	for set, want := range map[store.Settings]string{
		{}:                         "",
		{SynchronousCommit: "off"}: "",
		{FsyncOff: true}:           "alter system set fsync = on",
		{FullPageWritesOff: true}:  "alter system set full_page_writes = on",
	} {
		faults := faultsOf(set)
		if (len(faults) > 0) != (want != "") || !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("%+v: %q", set, faults)
		}
	}
}
