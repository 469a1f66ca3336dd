package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// The hidden first arguments. Each stage finds its descriptors in the same places:
//
//	              0                      1                2
//	supervisor    orders of the server   the output       the report to the server
//	watchdog      the supervisor's life  the output       trouble, for the supervisor
//	confine       anything               the output       trouble, for the supervisor
//	the command   /dev/null              the output       the output
//	a process     its input              its output       its errors
//
// A supervisor has the lease besides, and the stages have these: this binary, the environment of what is to be run, and either a process's input and
// errors, or the relay socket of a command with network.
//
// What a stage or bubblewrap complains about on standard error is thus never mistaken for the command's output, and a
// panic of ours never vanishes.
const (
	superviseArg = "__supervise"
	watchdogArg  = "__watchdog"
	confineArg   = "__confine"
	holdArg      = "__hold" // no stage: a process that keeps a user namespace until its input ends
)

const (
	handedLease  = 3 // in the supervisor only
	handedInput  = 4 // of a process, in the supervisor
	handedErrors = 5

	binaryFD      = 3 // where bubblewrap finds this binary, which does not exist inside
	environmentFD = 4 // a pipe; confine reads it to its end
	inputFD       = 5 // of a process
	errorsFD      = 6
)

// What comes after those depends on the plan: the streams of a process, the relay socket of what has network, over which its listening
// sockets are sent to the server, and the files of its view.

// relayFD is the relay socket in the stages, and handedRelay in the supervisor.
func (p plan) relayFD() int { return p.behindStreams(inputFD) }

func (p plan) handedRelay() int { return p.behindStreams(handedInput) }

func (p plan) behindStreams(first int) int {
	if p.Process {
		return first + 2
	}
	return first
}

// firstFile is the first file of the view in the stages, and handedFile in the supervisor.
func (p plan) firstFile() int { return p.behindRelay(p.relayFD()) }

func (p plan) handedFile() int { return p.behindRelay(p.handedRelay()) }

func (p plan) behindRelay(relay int) int {
	if p.Online {
		return relay + 1
	}
	return relay
}

// ready is written by confine, as trouble, when the command is isolated and only the exec is left. Without it, an exit code is
// not the command's.
const ready = "signoff: ready\n"

// Exit codes of a shell for a program that is not there or cannot be executed.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

const self = "/proc/self/exe" // also right when the file on disk was replaced by a new version

// program is what the stages of a command are started from. scripts/test.sh links another path in: under the race detector this binary takes more than
// twice as long to start, a command starts it three times, and a machine of two processors did little else in tests.
var program = self

// stage returns the arguments of a stage: the plan, then the command as it is.
func (p plan) stage(name string) []string {
	bare := p
	bare.Argv, bare.Env, bare.Watched = nil, nil, nil
	encoded, err := json.Marshal(bare)
	if err != nil {
		panic("sandbox: a plan is plain data: " + err.Error())
	}
	return append([]string{"signoff", name, string(encoded)}, p.Argv...)
}

func planFrom(args []string) (plan, error) {
	var p plan
	if len(args) < 2 {
		return p, fmt.Errorf("sandbox: this argument is for internal use")
	}
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return p, fmt.Errorf("sandbox: reading the plan: %w", err)
	}
	p.Argv = args[1:]
	return p, nil
}

func findTools() tools {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return tools{}
	}
	help, _ := exec.Command(path, "--help").CombinedOutput()
	return tools{Bubblewrap: path, SizedTmpfs: strings.Contains(string(help), "--size")}
}

// complain reports an error to the stage above.
func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// exitCode is as a shell tells it. The stages pass it on in this form.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
