package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
)

// emptyFolder prepares uses with a folder of their own, and counts those that are not cleaned up.
func emptyFolder(t testing.TB, left *atomic.Int32) func() (Use, func(), error) {
	return func() (Use, func(), error) {
		left.Add(1)
		return Use{Execution: "probe", Directory: t.TempDir()}, func() { left.Add(-1) }, nil
	}
}

// Whoever looks at a server learns its tools. Many who look at once start one program, and so do those who look within the next minute.
func TestLookingAtAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Int32
		started := withTools(revisionStateless, addEcho)
		m := NewManager(ManagerConfig{Catalog: catalogOf(t, map[string]Server{"s": {Command: "server", KeepRunning: true}}, nil), Programs: started})
		if before, known := m.Look(t.Context(), "t", "s", nil); !known || before.Status != ServerUnused || started.starts() != 0 {
			t.Errorf("before anybody has asked it: %+v, %d programs", before, started.starts())
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				status, known := m.Look(t.Context(), "t", "s", emptyFolder(t, &left))
				if !known || status.Status != ServerAvailable || status.Version != "1.2.3" || !status.KeepRunning || len(status.Tools) != 1 || status.Tools[0].Tool != "echo" {
					t.Errorf("%+v", status)
				}
			})
		}
		all.Wait()
		for _, later := range []struct {
			after  time.Duration
			starts int
		}{{probeHolds - time.Second, 1}, {time.Second, 2}} {
			time.Sleep(later.after)
			m.Look(t.Context(), "t", "s", emptyFolder(t, &left))
			if started.starts() != later.starts {
				t.Errorf("%s later: %d programs, want %d", later.after, started.starts(), later.starts)
			}
		}
		synctest.Wait()
		if status, _ := m.Look(t.Context(), "t", "s", nil); left.Load() != 0 || status.Connected != 0 {
			t.Errorf("%d folders and %d connections are left", left.Load(), status.Connected)
		}
		if other, _ := m.Look(t.Context(), "other", "s", nil); other.Status != ServerUnused {
			t.Errorf("another tenant sees %+v", other)
		}
	})
}

// A server that does not answer, or never ends its list, is not available. It holds nobody up for longer than they want to wait, and its failure is shown
// afterwards.
func TestLookingAtAServerThatDoesNotAnswer(t *testing.T) {
	silent := func(streams io.ReadWriteCloser) { _, _ = io.Copy(io.Discard, streams) }
	endless := &script{answers: map[string]func(json.RawMessage) string{"tools/list": says(silence)}}
	for name, run := range map[string]func(io.ReadWriteCloser){"no answer": silent, "no list": endless.run} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left atomic.Int32
				m := NewManager(ManagerConfig{
					Catalog:  catalogOf(t, map[string]Server{"s": {Command: "server", StartTimeout: time.Minute}}, nil),
					Programs: &programs{run: run},
				})
				begun := time.Now()
				waiting, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if status, _ := m.Look(waiting, "t", "s", emptyFolder(t, &left)); status.Status != ServerUnused || time.Since(begun) != time.Second {
					t.Errorf("after %s: %+v", time.Since(begun), status)
				}
				if status, _ := m.Look(t.Context(), "t", "s", emptyFolder(t, &left)); status.Status != ServerFailed || status.LastError == "" {
					t.Errorf("%+v", status)
				}
				synctest.Wait()
				if left.Load() != 0 {
					t.Errorf("%d folders", left.Load())
				}
			})
		})
	}
}

func TestLookingWithoutAPlaceToStartIn(t *testing.T) {
	m := NewManager(ManagerConfig{Catalog: catalogOf(t, map[string]Server{"s": stdioServer, "others": {Command: "x", Tenants: []domain.TenantID{"o"}}}, nil)})
	full := func() (Use, func(), error) {
		return Use{}, nil, errors.Join(os.ErrPermission, errors.New(filepath.Join("/", "secret")))
	}
	if status, _ := m.Look(t.Context(), "t", "s", full); status.Status != ServerFailed || status.LastError == "" || status.LastError == os.ErrPermission.Error() {
		t.Errorf("%+v", status)
	}
	if _, known := m.Look(t.Context(), "t", "others", full); known {
		t.Error("a server of another tenant is shown")
	}
}
