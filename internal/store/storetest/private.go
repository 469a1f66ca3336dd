package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"signoff/internal/store/storetest/binaries"
)

// Cluster is a private Postgres for a program that is no test: a campaign that takes it down and brings it up again under
// servers that go on. It ends with Stop and, as that of the tests does, with the process, whatever ends it.
type Cluster struct {
	server *server
	port   int
	fsync  bool
}

// Shutdown is a way to take a cluster down.
type Shutdown string

const (
	Fast      Shutdown = "fast"      // sessions are ended, everything is written
	Immediate Shutdown = "immediate" // as after a crash, but orderly: the next start replays the journal
	Killed    Shutdown = "kill -9"   // of the postmaster; its children find out and leave
)

// NewCluster starts a cluster on a disk. With fsync it writes to disk as a production server does.
func NewCluster(fsync bool) (*Cluster, error) {
	c, err := startCluster(disks())
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(c.url.Port())
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	cluster := &Cluster{server: &server{admin: c.url, private: c}, port: port, fsync: fsync}
	if fsync {
		err = errors.Join(cluster.Down(Fast), cluster.Up())
	}
	return cluster, err
}

// Database makes an empty database and returns its URL.
func (c *Cluster) Database() (url string, err error) {
	url, _, err = c.server.createDatabase("template0")
	return url, err
}

// Port is where the cluster listens on 127.0.0.1, over all restarts.
func (c *Cluster) Port() int { return c.port }

// PID is the process that the cluster's others are children of; 0 while it is down.
func (c *Cluster) PID() int { return postmasterPID(postgres{home: c.server.private.home()}.data()) }

// Down stops the cluster in one of three ways, and returns when the postmaster is gone.
func (c *Cluster) Down(how Shutdown) error {
	pg, err := c.programs()
	if err != nil {
		return err
	}
	if how != Killed {
		out, err := pg.command(pg.path("pg_ctl"), "stop", "-w", "-s", "-m", string(how), "-D", pg.data()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("pg_ctl stop: %w\n%s", err, out)
		}
		return nil
	}
	pid := postmasterPID(pg.data())
	if pid == 0 {
		return errors.New("there is no postmaster to kill")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); runsPostmaster(pid, pg.data()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the postmaster %d does not die", pid)
		}
	}
	return nil
}

// Up starts the cluster again at its port. After a kill the postmaster's children may take a second or two to leave,
// and a new one does not start over their memory.
func (c *Cluster) Up() error {
	pg, err := c.programs()
	if err != nil {
		return err
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if err = pg.startAt(c.port, c.fsync); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// EndSessions ends all sessions, wherever they are, and returns how many there were.
func (c *Cluster) EndSessions(ctx context.Context) (ended int, err error) {
	err = c.asked(ctx, `select count(pg_terminate_backend(pid)) from pg_stat_activity
		where backend_type = 'client backend' and pid <> pg_backend_pid()`, &ended)
	return ended, err
}

// Answers is an error where the cluster does not.
func (c *Cluster) Answers(ctx context.Context) error {
	var one int
	return c.asked(ctx, `select 1`, &one)
}

func (c *Cluster) asked(ctx context.Context, query string, into *int) error {
	conn, err := pgx.Connect(ctx, c.server.admin.String())
	if err != nil {
		return err
	}
	return errors.Join(conn.QueryRow(ctx, query).Scan(into), conn.Close(ctx))
}

// Log is the file that the cluster writes its log to.
func (c *Cluster) Log() ([]byte, error) {
	pg, err := c.programs()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(pg.log())
}

// Stop ends the cluster and removes its folder.
func (c *Cluster) Stop() error { return c.server.private.stop() }

func (c *Cluster) programs() (postgres, error) {
	bin, err := binaries.Find(os.Stderr)
	if err != nil {
		return postgres{}, err
	}
	as, err := runAs()
	return postgres{bin: bin, as: as, home: c.server.private.home()}, err
}
