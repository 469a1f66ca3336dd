//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// effectName is the name under which this binary lies in the workspace. Called so, it is the command that the model asks for.
const effectName = "effect"

// ledgerName is the file that records the commands that really ran, independent of everything that the server writes.
const ledgerName = "ledger"

// effect is the command: it writes that it starts, runs for a while, and writes that it ends. Each line is on disk before it
// goes on. While it runs it holds a lock of its execution: the kernel lets go of it at any death, so who finds it taken
// has found two tools of one execution that run at the same time, and says so.
func effect(arguments []string) int {
	if len(arguments) != 4 {
		fmt.Fprintln(os.Stderr, "usage: effect <key> <call> <tag> <milliseconds>")
		return 2
	}
	ledger, err := os.OpenFile(ledgerName, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer ledger.Close()
	lock, err := os.OpenFile(filepath.Join("locks", filepath.Base(arguments[0])), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		err = enter(ledger, "overlap", arguments)
	} else {
		err = enter(ledger, "start", arguments)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	milliseconds, _ := strconv.Atoi(arguments[3])
	time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	if err := enter(ledger, "end", arguments); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("done", arguments[0], arguments[1], arguments[2])
	return 0
}

// enter writes one line with one call, so that lines of several commands never mix, and waits for the disk.
func enter(ledger *os.File, what string, arguments []string) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	line := fmt.Sprintf("%s %s %s %s %d %d\n", what, arguments[0], arguments[1], arguments[2], now.Nano(), os.Getpid())
	if _, err := io.WriteString(ledger, line); err != nil {
		return err
	}
	return ledger.Sync()
}

// entry is one line of the ledger.
type entry struct {
	what string // start, end, overlap
	key  string
	call int
	tag  string
	at   int64 // nanoseconds of the machine's monotonic clock
}

// effectOf are the words that a command and its entries share.
func (e entry) effect() string { return fmt.Sprintf("%s %d %s", e.key, e.call, e.tag) }

// readLedger reads the ledger by keys.
func readLedger(workspace string) (map[string][]entry, error) {
	content, err := os.ReadFile(filepath.Join(workspace, ledgerName))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string][]entry{}
	for line := range bytes.Lines(content) {
		words := strings.Fields(string(line))
		if len(words) != 6 || !bytes.HasSuffix(line, []byte("\n")) {
			continue // a killed command's last words
		}
		e := entry{what: words[0], key: words[1], tag: words[3]}
		e.call, _ = strconv.Atoi(words[2])
		e.at, _ = strconv.ParseInt(words[4], 10, 64)
		all[e.key] = append(all[e.key], e)
	}
	return all, nil
}

// installEffect puts this program into a workspace.
func installEffect(workspace string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(workspace, effectName), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700) //nolint:gosec // a program is executable
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(workspace, "locks"), 0o750)
}
