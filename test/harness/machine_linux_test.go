package harness

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
)

// A machine has files, users and a network of its own, and this machine sees none of them.
func TestMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED, only root makes namespaces of mounts and networks")
	}
	m, err := NewMachine(t.TempDir())
	must(t, err)
	defer m.Close()
	other, err := m.Neighbor("10.20.0.1/16", "10.20.0.2/16")
	must(t, err)
	defer other.Close()

	must(t, os.WriteFile(m.Path("/srv/report"), []byte("there"), 0o644))
	if _, err := os.Stat("/srv/report"); err == nil {
		t.Error("this machine has the file, too")
	}
	listener, err := other.Listen("tcp", "10.20.0.2:5432")
	must(t, err)
	defer listener.Close()
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			_, _ = io.WriteString(connection, "answer")
			connection.Close()
		}
	}()
	connection, err := m.Dial(context.Background(), "tcp", "10.20.0.2:5432")
	must(t, err)
	defer connection.Close()
	if answer, err := io.ReadAll(connection); err != nil || string(answer) != "answer" {
		t.Errorf("%q %v", answer, err)
	}

	var said Output
	command := exec.Command("sh", "-c", "cat /srv/report && test -s /etc/passwd && test ! -e /data/* && ls /usr/local/bin")
	command.Stdout, command.Stderr = &said, &said
	process, err := m.Start(command)
	must(t, err)
	if end := process.End(); !end.Success() || said.String() != "there" {
		t.Errorf("%s: %q", end, said.String())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
