package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"signoff/internal/store/storetest/binaries"
)

// A cluster lives in a folder of its own:
//
//	signoff-test-postgres-123456/   ours; others may pass through it
//	    owner                       our process id; locked for as long as we live
//	    pg/                         belongs to the user that Postgres runs as
//	        data/  log
//
// The lock is what says that the owner is alive: the kernel lets go of it at any death, and unlike a process id it
// is never handed to a stranger.
const folderPattern = "signoff-test-postgres-*"

// cluster is a running Postgres of this process.
type cluster struct {
	url         *url.URL
	folder      string
	owner       *os.File // holds the lock
	leash       *os.File // Postgres is stopped when this pipe closes
	watchdog    *exec.Cmd
	copiesFiles bool // knows `strategy file_copy`, and is quick at it
}

// startCluster removes what killed runs left, then makes and starts a cluster in the first of the folders that can be used.
func startCluster(roots []string) (_ *cluster, err error) {
	bin, err := binaries.Find(os.Stderr)
	if err != nil {
		return nil, err
	}
	as, err := runAs()
	if err != nil {
		return nil, err
	}
	removeLeftovers()

	c := &cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if err := c.makeFolder(as, roots); err != nil {
		return nil, err
	}
	pg := postgres{bin: bin, as: as, home: c.home()}
	password := randomHex(16)
	if err := pg.initdb(password); err != nil {
		return nil, err
	}
	// The watchdog stands before there is anything to watch: at no moment could a kill leave a server behind.
	if err := c.startWatchdog(pg); err != nil {
		return nil, err
	}
	fsync := fsyncWanted()
	port, err := pg.start(fsync)
	if err != nil {
		return nil, err
	}
	c.copiesFiles = pg.version() >= 15 && !fsync
	c.url = &url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return c, nil
}

// stop ends the server and removes its folder. It also works on a cluster that came up only halfway.
func (c *cluster) stop() error {
	if c.leash != nil {
		_ = c.leash.Close()
	}
	if c.watchdog != nil {
		_ = c.watchdog.Wait() // its exit code says nothing that destroy does not find out
	}
	if c.folder == "" {
		return nil
	}
	err := destroy(c.folder)
	if c.owner != nil {
		_ = c.owner.Close()
	}
	return err
}

func (c *cluster) home() string { return filepath.Join(c.folder, "pg") }

// makeFolder makes the folder of the cluster where the user that Postgres runs as can reach it.
func (c *cluster) makeFolder(as *syscall.Credential, roots []string) error {
	var refused []string
	for _, root := range roots {
		if as != nil && !passable(root) {
			refused = append(refused, root)
			continue
		}
		folder, err := os.MkdirTemp(root, folderPattern)
		if err != nil {
			refused = append(refused, root)
			continue
		}
		c.folder = folder
		break
	}
	if c.folder == "" {
		return fmt.Errorf("no folder for a cluster: %s cannot be written, or not be entered by another user",
			strings.Join(refused, ", "))
	}
	home := c.home()
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	if as != nil {
		if err := os.Chmod(c.folder, 0o711); err != nil {
			return err
		}
		if err := os.Chown(home, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}

	// A sweeper takes an unlocked owner file for a dead owner, so the file gets its name only when it is locked.
	owner, err := os.OpenFile(filepath.Join(c.folder, "owner.new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	c.owner = owner
	if _, err := fmt.Fprintln(owner, os.Getpid()); err != nil {
		return err
	}
	if err := flock(owner, syscall.LOCK_EX); err != nil {
		return err
	}
	return os.Rename(owner.Name(), filepath.Join(c.folder, "owner"))
}

// startWatchdog starts a shell that waits for the end of a pipe whose only other end is ours, and then stops the
// server: what happens at stop, and what the kernel makes happen when this process is killed.
func (c *cluster) startWatchdog(pg postgres) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	// A kill may come while pg_ctl is still bringing the server up: no pid file yet, so it is asked twice.
	const script = `cat >/dev/null; "$0" stop -s -m immediate -D "$1" || { sleep 2; "$0" stop -s -m immediate -D "$1"; }`
	cmd := pg.command("/bin/sh", "-c", script, pg.path("pg_ctl"), pg.data())
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return fmt.Errorf("watchdog: %w", err)
	}
	c.leash, c.watchdog = w, cmd
	return nil
}

// fsyncWanted says whether the cluster of the tests is to flush to disk.
func fsyncWanted() bool { return os.Getenv("SIGNOFF_TEST_POSTGRES_FSYNC") == "on" }

// memory is a folder on no disk. A database is three hundred files: to copy and remove them on a disk took more processor time than most
// tests do with them.
const memory = "/dev/shm"

// roomInMemory says whether databases of tests have room there.
func roomInMemory() bool {
	var space syscall.Statfs_t
	return syscall.Statfs(memory, &space) == nil && space.Bavail*uint64(space.Bsize) >= 1<<30
}

// fastest are the folders for a cluster of which nobody expects that it outlives the machine.
func fastest() []string {
	if fsyncWanted() || !roomInMemory() {
		return disks()
	}
	return append([]string{memory}, disks()...)
}

// disks are the folders that clusters are made in, best first. They do not depend on the caller's habits, or the
// next run would look elsewhere for what a killed one left: TMPDIR comes last, and is often closed to other users.
func disks() []string {
	list := []string{"/var/tmp", "/tmp"}
	if dir := os.TempDir(); dir != list[0] && dir != list[1] {
		list = append(list, dir)
	}
	return list
}

// passable says whether every user may pass through the folder and all above it.
func passable(folder string) bool {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(folder)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return true
		}
		folder = parent
	}
}

// removeLeftovers ends the clusters that this code started in processes of this user that are gone. What it cannot remove
// now, the next sweep will.
func removeLeftovers() {
	for _, root := range append(disks(), memory) {
		folders, _ := filepath.Glob(filepath.Join(root, folderPattern))
		for _, folder := range folders {
			removeLeftover(folder)
		}
	}
}

func removeLeftover(folder string) {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return
	}
	// Anybody may make a folder of this name in a place like /tmp. Only our own are ours.
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return
	}
	owner, err := os.OpenFile(filepath.Join(folder, "owner"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// Killed before it had locked anything, or about to: the age tells.
		if time.Since(info.ModTime()) > time.Minute {
			_ = destroy(folder)
		}
		return
	}
	if err != nil {
		return
	}
	defer func() { _ = owner.Close() }()
	if flock(owner, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return // its owner lives, or another sweeper is at it
	}
	_ = destroy(folder)
}

// destroy stops the postmaster of a cluster, if it runs, and removes the folder.
func destroy(folder string) error {
	data := filepath.Join(folder, "pg", "data")
	if err := stopPostmaster(data); err != nil {
		return err
	}
	var err error
	for range 20 { // a last child of the server may still be writing
		if err = os.RemoveAll(folder); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// stopPostmaster ends the server over a data folder. The process id in its pid file counts only if that process
// really is a server over this folder: the file may be older than the machine's last start.
func stopPostmaster(data string) error {
	pid := postmasterPID(data)
	if pid == 0 {
		return nil
	}
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{
		{syscall.SIGQUIT, 10 * time.Second}, // Postgres's immediate shutdown
		{syscall.SIGKILL, 10 * time.Second},
	} {
		_ = syscall.Kill(pid, step.signal)
		for end := time.Now().Add(step.wait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if !runsPostmaster(pid, data) {
				return nil
			}
		}
	}
	return fmt.Errorf("the postmaster %d of %s does not end", pid, data)
}

// postmasterPID returns the process that serves the data folder, or 0.
func postmasterPID(data string) int {
	content, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 || !runsPostmaster(pid, data) {
		return 0
	}
	return pid
}

// runsPostmaster says whether the process is a server that was started over the data folder.
func runsPostmaster(pid int, data string) bool {
	var args string
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args = strings.ReplaceAll(string(content), "\x00", " ") // empty for a zombie
	} else {
		content, _ := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
		args = string(content)
	}
	return strings.Contains(args, " -D "+data+" ") || strings.HasSuffix(strings.TrimSpace(args), " -D "+data)
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// runAs returns the credential that Postgres runs under: nil for our own, for it refuses only root. initdb also
// refuses a user that is not in the user database, so a bare number will not do.
func runAs() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("the tests run as root, Postgres must not, and there is neither a user postgres nor nobody. " +
		"Type: useradd --system postgres")
}

// superuser is the name of the private cluster's only role.
const superuser = "signoff"

// postgres runs the programs of one installation over one home.
type postgres struct {
	bin  string
	as   *syscall.Credential
	home string
}

func (p postgres) path(program string) string { return filepath.Join(p.bin, program) }
func (p postgres) data() string               { return filepath.Join(p.home, "data") }
func (p postgres) log() string                { return filepath.Join(p.home, "log") }

// command prepares a child that sees nothing of our environment (PGDATA, PGPORT, an empty HOME), stands in a folder
// that it may enter, and is in a process group of its own, so that a Ctrl-C in the terminal does not overtake us.
func (p postgres) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.home
	cmd.Env = []string{"PATH=" + p.bin + ":/usr/bin:/bin", "HOME=" + p.home, "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true}
	return cmd
}

func (p postgres) initdb(password string) error {
	pwfile := filepath.Join(p.home, "password")
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if p.as != nil {
		if err := os.Chown(pwfile, int(p.as.Uid), int(p.as.Gid)); err != nil {
			return err
		}
	}
	defer func() { _ = os.Remove(pwfile) }()
	args := []string{
		"-D", p.data(), "--username=" + superuser, "--pwfile=" + pwfile, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-sync",
	}
	// By language, so that no query works here only because text happens to sort by byte. Not every build can.
	if out, err := p.command(p.path("initdb"), append(args, "--locale-provider=icu", "--icu-locale=en-US")...).
		CombinedOutput(); err == nil {
		return nil
	} else if !strings.Contains(string(out), "locale-provider") && !strings.Contains(string(out), "ICU") {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if out, err := p.command(p.path("initdb"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// start brings the server up on a free port and returns the port.
func (p postgres) start(fsync bool) (int, error) {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return 0, err
		}
		if err = p.startAt(port, fsync); err == nil {
			return port, nil
		}
		if attempt == attempts || !strings.Contains(err.Error(), "already in use") {
			return 0, err
		}
	}
}

// startAt brings the server up on the port.
func (p postgres) startAt(port int, fsync bool) error {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // a path in a deep folder would be too long for one
		"max_connections=300",      // tests run several replicas with a pool each
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if !fsync {
		// Safe against any death of a process, not against that of the machine.
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	if strings.HasPrefix(p.home, memory) {
		settings = append(settings, "max_wal_size=128MB") // memory is not for a journal that nobody replays
	}
	options := "-p " + strconv.Itoa(port)
	for _, s := range settings {
		options += " -c " + s
	}
	// No pipe for its output: the server would inherit it, and `go test` would wait for the server to close it.
	err := p.command(p.path("pg_ctl"), "start", "-w", "-s", "-t", "60", "-D", p.data(), "-l", p.log(), "-o", options).Run()
	if err != nil {
		log, _ := os.ReadFile(p.log())
		return fmt.Errorf("pg_ctl start: %w\n%s", err, log)
	}
	return nil
}

// version returns the major version of the cluster, 0 if unknown.
func (p postgres) version() int {
	content, _ := os.ReadFile(filepath.Join(p.data(), "PG_VERSION"))
	major, _, _ := strings.Cut(strings.TrimSpace(string(content)), ".")
	n, _ := strconv.Atoi(major)
	return n
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
