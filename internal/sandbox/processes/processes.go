// Package processes lists the processes of the machine for commands that may see them.
//
// # Model
//
// [List] reads /proc in the server, and returns what ps shows of each process. Arguments may hold secrets, so the caller's mask is applied to them.
// Environments, memory and open files of processes are never read.
package processes

import (
	"encoding/json"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"signoff/internal/sandbox"
)

// maxArguments bounds what is shown of a command line, in bytes.
const maxArguments = 4 << 10

// Bounds of a list, on machines with very many processes: of those that come later nothing is shown, or no arguments.
const (
	maxProcesses    = 20_000
	maxAllArguments = 8 << 20
)

// List returns the processes of this machine, sorted by their number. A process that ends meanwhile is left out.
func List(mask func(string) string) ([]sandbox.HostProcess, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	names := map[uint64]string{}
	var list []sandbox.HostProcess
	left := maxAllArguments
	for _, process := range all[:min(len(all), maxProcesses)] {
		stat, err := process.Stat()
		if err != nil {
			continue
		}
		status, err := process.NewStatus()
		if err != nil {
			continue
		}
		started, err := stat.StartTime()
		if err != nil {
			continue
		}
		arguments, err := process.CmdLine()
		if err != nil {
			continue
		}
		line := strings.Join(arguments, " ")
		if len(line) > maxArguments {
			line = line[:maxArguments] + "…"
		}
		if left -= len(line); left < 0 {
			line = stat.Comm + " …"
		}
		begun := time.Unix(int64(started), 0)
		spent := time.Duration(stat.CPUTime() * float64(time.Second))
		list = append(list, sandbox.HostProcess{
			PID: stat.PID, PPID: stat.PPID, User: nameOf(status.UIDs[1], names), State: stat.State,
			CPU: 100 * spent.Seconds() / max(1, time.Since(begun).Seconds()), Memory: uint64(stat.ResidentMemory()), Virtual: uint64(stat.VirtualMemory()),
			Started: begun, Time: spent, Name: stat.Comm, Arguments: mask(line),
		})
	}
	return list, nil
}

// one lets commands that ask again and again take one processor of the server at most, all of them together.
var one sync.Mutex

// JSON is [List] as the programs of package sandbox read it.
func JSON(mask func(string) string) ([]byte, error) {
	one.Lock()
	defer one.Unlock()
	list, err := List(mask)
	if err != nil {
		return nil, err
	}
	return json.Marshal(list)
}

// nameOf is the user's name, or the number where none is known.
func nameOf(uid uint64, known map[uint64]string) string {
	name, seen := known[uid]
	if !seen {
		name = strconv.FormatUint(uid, 10)
		if found, err := user.LookupId(name); err == nil {
			name = found.Username
		}
		known[uid] = name
	}
	return name
}
