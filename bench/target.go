package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"signoff/internal/store/storetest"
	"signoff/test/harness"
)

// The contenders, by the names that the table gives them.
const (
	hub      = "hub"
	postgres = "postgres"
	sqlite   = "sqlite"
)

// object is a JSON object that somebody writes down.
type object = harness.Object

// wire keeps enough connections for every figure.
var wire = &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true, ReadBufferSize: 32 << 10}

// target is a contender that runs.
type target struct {
	harness.Client

	name     string
	process  *harness.Process
	database int           // the process that the database's hang on; 0: there is none beside the server
	ready    time.Duration // how long it took from its start until it said that it is ready
	folder   string        // goes away with it; empty: there is none
}

func (t *target) stop() error {
	_, err := t.process.Stop(farewellPatience)
	if t.folder == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(t.folder))
}

// cpu is what the server has used so far, and what it has used together with its database.
func (t *target) cpu() (server, all time.Duration, err error) {
	if server, err = cpuTime(t.process.PID()); err != nil || t.database == 0 {
		return server, server, err
	}
	for _, worker := range harness.Processes() {
		if worker.Parent != t.database {
			continue
		}
		used, err := cpuTime(worker.PID)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended meanwhile, and what it used is with its parent: once this ended a whole run
		}
		if err != nil {
			return 0, 0, err
		}
		all += used
	}
	database, err := cpuTime(t.database) // after them: what a worker that has ended used is in it
	return server, server + all + database, err
}

// stage is what all contenders share.
type stage struct {
	folder  string
	binary  string // of the server
	self    string // this program: the agent of the executions that have an external one
	model   *harness.Process
	modelAt string
	cluster *storetest.Cluster // started by the first who needs it
	tree    *tree              // filled by the first who needs it
}

func newStage(binary string) (*stage, error) {
	folder, err := os.MkdirTemp("", "signoff-bench-")
	if err != nil {
		return nil, err
	}
	s := &stage{folder: folder, tree: &tree{folder: filepath.Join(folder, "tree")}}
	err = os.Mkdir(s.tree.folder, 0o750)
	if err == nil {
		s.binary, err = filepath.Abs(binary)
	}
	if err == nil {
		s.self, err = os.Executable()
	}
	if err == nil {
		s.model, s.modelAt, err = launchSelf("model")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

func (s *stage) close() error {
	_, err := s.model.Stop(farewellPatience)
	err = errors.Join(err, os.RemoveAll(s.folder))
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.Stop())
	}
	return err
}

// withIsolation is the argument that has the hub isolate its commands.
const withIsolation = "isolated"

// start starts a contender by its name.
func (s *stage) start(name string, isolated bool) (*target, error) {
	if name != hub {
		return s.startServer(name)
	}
	arguments := []string{hub, s.modelAt}
	if isolated {
		arguments = append(arguments, withIsolation)
	}
	begun := time.Now()
	p, base, err := launchSelf(arguments...)
	return &target{Client: harness.Client{Base: base, Transport: wire}, name: name, process: p, ready: time.Since(begun)}, err
}

// usual are the settings of every server: room for all that is measured, and no parking in the middle of it.
var usual = map[string]string{
	"SIGNOFF_ADDR": "127.0.0.1:0", "SIGNOFF_LOG_LEVEL": "info", "SIGNOFF_LOG_FORMAT": "json", "SIGNOFF_DRAIN_SECONDS": "5",
	"SIGNOFF_MAX_LIVE": "20000", "SIGNOFF_PARK_SECONDS": "3600",
}

func (s *stage) startServer(name string) (*target, error) {
	folder, err := os.MkdirTemp(s.folder, name+"-")
	if err != nil {
		return nil, err
	}
	t := &target{Client: harness.Client{Transport: wire}, name: name, folder: folder}
	env := maps.Clone(usual)
	if name == postgres {
		if env["SIGNOFF_DATABASE_URL"], t.database, err = s.postgres(); err != nil {
			return nil, err
		}
	}
	workspace := filepath.Join(folder, "workspace")
	maps.Copy(env, map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder, "SIGNOFF_DATA_DIR": filepath.Join(folder, "data"),
		"SIGNOFF_CONFIG": filepath.Join(folder, "signoff.yaml"), "SIGNOFF_WORKSPACE_ROOT": workspace,
	})
	if err := errors.Join(os.Mkdir(workspace, 0o750), s.configure(env["SIGNOFF_CONFIG"])); err != nil {
		return nil, err
	}
	if err := t.serve(s.binary, env); err != nil {
		log, _ := os.ReadFile(filepath.Join(folder, "log"))
		return nil, fmt.Errorf("%w; it said:\n%s", err, log)
	}
	return t, nil
}

// configure names the model, the agent and the tree.
func (s *stage) configure(path string) error {
	content, err := json.Marshal(object{ // JSON is YAML
		"models":     object{"default": "bench", "bench": object{"provider": "openai", "model": "bench", "baseUrl": s.modelAt + "/v1"}},
		"agents":     object{"bench": object{"command": s.self, "args": []string{"agent"}}},
		"workspaces": object{"tree": s.tree.folder},
		// Each checkpoint costs starts of git. The figure that is about them asks for them, and the hub takes them there, too.
		"settings": object{"defaultCheckpoints": "off"},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// postgres returns an empty database, and the process that its workers hang on.
func (s *stage) postgres() (url string, pid int, err error) {
	if s.cluster == nil {
		if s.cluster, err = storetest.NewCluster(true); err != nil {
			return "", 0, err
		}
	}
	url, err = s.cluster.Database()
	return url, s.cluster.PID(), err
}

// readyPatience is how long a server may take to start.
const readyPatience = 60 * time.Second

// serve starts the server and waits until it says that it is ready.
func (t *target) serve(binary string, env map[string]string) error {
	log, err := os.Create(filepath.Join(t.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(binary, "serve")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command.Env = append(command.Env, name+"="+env[name])
	}
	command.Dir, command.Stdout, command.Stderr = t.folder, log, log
	begun := time.Now()
	if t.process, err = harness.Start(command); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), readyPatience, fmt.Errorf("the server is not ready after %s", readyPatience))
	defer cancel()
	if err := t.process.Await(ctx, func() bool { return t.isReady(ctx, log.Name()) }); err != nil {
		return errors.Join(err, t.process.Kill())
	}
	t.ready = time.Since(begun)
	token, err := os.ReadFile(filepath.Join(env["SIGNOFF_DATA_DIR"], "token"))
	t.Token = strings.TrimSpace(string(token))
	return err
}

// isReady finds the address in the log of the server, which took a free port, and asks there.
func (t *target) isReady(ctx context.Context, log string) bool {
	if t.Base == "" {
		content, _ := os.ReadFile(log) // where it cannot be read it says nothing yet
		t.Base = harness.Address(string(content))
	}
	return t.Base != "" && t.Ready(ctx)
}
