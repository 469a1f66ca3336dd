//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"signoff/internal/domain"
)

// lease has no effect here: nothing runs.
type lease struct{}

func newLease() (*lease, error) { return nil, nil }

func (*lease) trust(time.Time) {}

var errNotLinux = errors.New("Signoff can confine commands on Linux only")

// Intercept does nothing here: there are no stages.
func Intercept() {}

func findTools() tools { return tools{} }

func usableMemory() uint64 { return 0 }

func machineMemory() uint64 { return 0 }

func landlockABI() int { return 0 }

func (s *Sandbox) probe(context.Context, method) (string, error) { return "", errNotLinux }

func (p plan) run(context.Context, time.Duration, io.Writer) (domain.CommandResult, error) {
	return domain.CommandResult{}, domain.Errorf(domain.CodeSandboxUnavailable, "%v.", errNotLinux)
}

func (p plan) startProcess(context.Context) (*Child, error) { return nil, unavailable(errNotLinux) }

// The parts of a view are those of Linux. Nothing comes as far as them, because nothing here isolates a command.

func (v *view) settle(string, domain.Environment) (int, error) { return 0, errNotLinux }

func (v *view) openFiles(map[string][]byte, []relayPlace) ([]*os.File, error) {
	return nil, errNotLinux
}

func placesOf([]string) ([]relayPlace, error) { return nil, errNotLinux }

func mountsOfMachine() (mounts, error) { return nil, errNotLinux }

func hostAccount(domain.Environment) (*account, error) { return nil, errNotLinux }

// WritesOnHost is not known here.
func WritesOnHost(domain.Environment, string) bool { return true }
