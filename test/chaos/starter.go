package main

import (
	"os/exec"
	"runtime"
)

// starter is a thread that starts processes and lives as long as the campaign. A process that is to die with its parent is told of the
// death of the thread that started it. Blocks that mount end threads of their own; a thread that had started the server of another block before
// took it along, and the clients of that block waited for it for ever.
type starter chan func()

func newStarter() starter {
	jobs := make(starter)
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
}

func (s starter) start(process *exec.Cmd) (err error) {
	done := make(chan struct{})
	s <- func() {
		err = process.Start()
		close(done)
	}
	<-done
	return err
}

func (s starter) close() { close(s) }
