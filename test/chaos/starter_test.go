package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

func TestProcessOutlivesTheThreadOfWhoeverWantedIt(t *testing.T) {
	s := newStarter()
	defer s.close()
	for range 20 {
		process := exec.Command("sleep", "60")
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		thread, started := make(chan int), make(chan error)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			started <- s.start(process)
			thread <- syscall.Gettid()
		}()
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		awaitEnd(<-thread)
		ended := make(chan error)
		go func() { ended <- process.Wait() }()
		if err := process.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Fatal("it has ended by itself")
		}
		if by := process.ProcessState.Sys().(syscall.WaitStatus).Signal(); by != syscall.SIGTERM {
			t.Fatalf("it was ended by %v", by)
		}
	}
}

// awaitEnd waits until a thread of this process is gone. Go does not end the first one.
func awaitEnd(thread int) {
	for thread != os.Getpid() && syscall.Tgkill(syscall.Getpid(), thread, 0) == nil {
		runtime.Gosched()
	}
}
