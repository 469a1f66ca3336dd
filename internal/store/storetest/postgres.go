// Package storetest gives tests a real Postgres of their own.
//
// A test asks for an empty database and gets its URL:
//
//	func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		url := storetest.Postgres(t)
//		…
//	}
//
// The server behind it is the one that SIGNOFF_TEST_DATABASE_URL names or, without that, a private cluster
// from the binaries that package binaries finds or brings: started by the first test that asks, stopped when the
// test binary ends, however it ends. Nothing here ever skips a test: where no Postgres can be had, the test fails
// and says what to type.
//
// Settings, all from the environment:
//
//	SIGNOFF_TEST_DATABASE_URL   a server to use; its role needs CREATEDB
//	PG_BIN                      the folder with initdb, pg_ctl and postgres, before any other place
//	SIGNOFF_TEST_POSTGRES_FSYNC "on" makes the private cluster flush to disk as a production server does;
//	                            off by default, for the cluster lives as long as one test binary, and in memory
//	                            where there is room
package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Main runs the tests and stops the private cluster, if one was started. A package's TestMain hands its m to it
// (anything with Run will do, so that it can be wrapped around other checks) and exits with the answer.
//
// A package without it leaks nothing for long: the cluster also ends with the process. It only ends sooner,
// and without a trace in the file system, with it.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "storetest:", err)
		if code == 0 {
			code = 1
		}
	}
	return code
}

// Postgres returns the URL of a fresh, empty database that belongs to the test alone and is dropped, with whatever
// is still connected to it, when the test is over.
//
// Text sorts by language in the private cluster, not by byte, as it does in a Postgres that somebody installed:
// a query that needs byte order has to ask for it.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return fresh(tb, empty)
}

// empty names the database to copy for one without anything in it.
func empty(*server) (string, error) { return "template0", nil }

// fresh makes a database of the test's own, a copy of another one.
func fresh(tb testing.TB, template func(*server) (string, error)) string {
	tb.Helper()
	srv, err := shared.start()
	if err != nil {
		tb.Fatalf("storetest: no Postgres for this test: %v", err)
	}
	from, err := template(srv)
	if err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	dsn, drop, err := srv.createDatabase(from)
	if err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	tb.Cleanup(func() {
		if err := drop(); err != nil {
			tb.Errorf("storetest: %v", err)
		}
	})
	return dsn
}

// server is a Postgres server in which databases may be made.
type server struct {
	admin   *url.URL // of the database to connect to for CREATE DATABASE
	private *cluster // nil when somebody else runs the server

	once     sync.Once // for what follows
	template string
	err      error
}

// lazyServer is started once, by the first test that needs it.
type lazyServer struct {
	once sync.Once
	srv  *server
	err  error
}

var shared lazyServer

func (l *lazyServer) start() (*server, error) {
	// No test may be failed inside of Do: Goexit would count as done and leave the next test with a nil server.
	l.once.Do(func() { l.srv, l.err = newServer() })
	return l.srv, l.err
}

func (l *lazyServer) stop() error {
	l.once.Do(func() { l.err = errors.New("the tests are over") })
	if l.srv == nil || l.srv.private == nil {
		return nil
	}
	return l.srv.private.stop()
}

func newServer() (*server, error) {
	if given := os.Getenv("SIGNOFF_TEST_DATABASE_URL"); given != "" {
		admin, err := url.Parse(given)
		if err != nil || (admin.Scheme != "postgres" && admin.Scheme != "postgresql") {
			return nil, errors.New("SIGNOFF_TEST_DATABASE_URL is not of the form postgres://user:password@host:port/database")
		}
		return &server{admin: admin}, nil
	}
	c, err := startCluster(fastest())
	if err != nil {
		return nil, err
	}
	return &server{admin: c.url, private: c}, nil
}

// createDatabase copies a database and returns the copy's URL and what drops it.
func (s *server) createDatabase(template string) (dsn string, drop func() error, err error) {
	name := "signoff_test_" + randomHex(8)
	if err := s.create(name, template); err != nil {
		return "", nil, err
	}
	return s.dsn(name), func() error {
		return s.exec("drop database if exists " + name + " with (force)")
	}, nil
}

func (s *server) create(name, template string) error {
	create := "create database " + name + " template " + template
	if s.private != nil && s.private.copiesFiles {
		create += " strategy file_copy"
	}
	return s.exec(create)
}

func (s *server) dsn(database string) string {
	own := *s.admin
	own.Path, own.RawPath = "/"+database, ""
	return own.String()
}

// exec runs one statement on a connection of its own: a kept one would be a goroutine and a socket that outlive
// the test, which leak detectors would rightly report.
func (s *server) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	if closeErr := conn.Close(ctx); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
