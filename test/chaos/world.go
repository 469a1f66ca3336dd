//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"signoff/test/harness"
)

// world is some replicas over one database and one workspace, with a model, and people and clients around them. Each block
// makes one or more of its own.
type world struct {
	run       *run
	name      string
	folder    string
	workspace string
	model     *model
	servers   []*server
	token     string
	load      *load
}

// setup describes a world.
type setup struct {
	name     string            // in messages and in the folder
	postgres bool              // otherwise SQLite, which has one server
	database string            // a URL in place of a database in the shared cluster
	replicas int               // 0 is 1
	env      map[string]string // settings in place of the usual ones
	mounts   bool              // it is made and run by smallDisks
	live     int               // executions that the load keeps live; 0 is 24
	plan     func(key string, d *dice) plan
	people   func(t *track, asked question)
	script   harness.Script // of the model, in place of play
}

// usual are the settings of every server.
var usual = map[string]string{
	"SIGNOFF_LEASE_SECONDS": "2", "SIGNOFF_DRAIN_SECONDS": "5", "SIGNOFF_LOG_LEVEL": "info", "SIGNOFF_LOG_FORMAT": "json",
}

// newWorld makes the world and starts its servers.
func newWorld(r *run, s setup) *world {
	w := newStillWorld(r, s)
	w.startAll()
	return w
}

// newStillWorld makes a world whose servers have never been started.
func newStillWorld(r *run, s setup) *world {
	if s.script == nil {
		s.script = play
	}
	folder, err := os.MkdirTemp(r.stage.folder, r.block.name+"-"+s.name+"-")
	r.must(err)
	w := &world{run: r, name: s.name, folder: folder, workspace: filepath.Join(folder, "workspace"), model: newModel(s.script)}
	r.must(os.Mkdir(w.workspace, 0o750))
	r.must(installEffect(w.workspace))
	if s.postgres && s.database == "" {
		s.database, err = r.stage.postgres.database()
		r.must(err)
	}
	for i := range max(1, s.replicas) {
		server, err := w.newServer(fmt.Sprint(i+1), s)
		r.must(err)
		w.servers = append(w.servers, server)
	}
	w.load = newLoad(w, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worlds = append(r.worlds, w)
	return w
}

// startAll starts the first server by itself: it makes the schema and the first token.
func (w *world) startAll() {
	w.servers[0].start()
	token, err := os.ReadFile(filepath.Join(w.servers[0].home, "data", "token"))
	w.run.must(err)
	w.token = strings.TrimSpace(string(token))
	for _, s := range w.servers[1:] {
		s.start()
	}
}

func (w *world) newServer(name string, s setup) (*server, error) {
	home := filepath.Join(w.folder, name)
	if err := os.Mkdir(home, 0o750); err != nil {
		return nil, err
	}
	port, err := freePort(&w.run.dice)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(home, "signoff.yaml")
	content, err := json.Marshal(object{"agentProfiles": specialists, "settings": w.run.stage.settings(), "models": object{"default": "m", "m": object{
		"provider": "openai", "model": "m", "baseUrl": w.model.server.URL + "/v1",
	}}})
	if err != nil {
		return nil, err
	}
	env := maps.Clone(usual)
	maps.Copy(env, map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home,
		"SIGNOFF_ADDR": fmt.Sprintf("127.0.0.1:%d", port), "SIGNOFF_DATA_DIR": filepath.Join(home, "data"), "SIGNOFF_CONFIG": config,
		"SIGNOFF_WORKSPACE_ROOT": w.workspace, "SIGNOFF_DATABASE_URL": s.database,
	})
	maps.Copy(env, s.env)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "SIGNOFF_") || w.run.stage.knows(name) {
			list = append(list, name+"="+env[name])
		}
	}
	return &server{run: w.run, name: w.name + "/" + name, base: fmt.Sprintf("http://127.0.0.1:%d", port), port: port, home: home, env: list, here: s.mounts},
		os.WriteFile(config, content, 0o600)
}

// any is one of the replicas.
func (w *world) any(d *dice) *server { return w.servers[d.below(len(w.servers))] }

// close ends everything. The folder of a world in which something is not as promised stays, with the logs of the servers.
func (w *world) close() {
	w.load.abandon()
	for _, s := range w.servers {
		s.stop()
		givenPorts.Delete(s.port)
	}
	w.model.server.CloseClientConnections()
	w.model.server.Close()
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.worlds = slices.DeleteFunc(w.run.worlds, func(one *world) bool { return one == w })
	if len(w.run.violations) > 0 {
		fmt.Fprintf(os.Stderr, "what the servers of %s said lies in %s\n", w.name, w.folder)
		return
	}
	_ = os.RemoveAll(w.folder)
}

// dumpStacks ends the servers with SIGQUIT: their logs then show the stacks of all goroutines.
func (w *world) dumpStacks() {
	for _, s := range w.servers {
		if s.running() != nil {
			_ = s.signal(syscall.SIGQUIT)
		}
	}
}

// nothingLeft checks that the processes of executions that have ended are gone, five seconds later at most.
func (w *world) nothingLeft() {
	var left []harness.Proc
	gone := w.run.await(5*time.Second, func() bool {
		left = harness.WorkingIn(w.workspace)
		return len(left) == 0
	})
	w.run.expect(gone, "%s: I8: %d processes are left of executions that have ended: %v", w.name, len(left), left)
}
