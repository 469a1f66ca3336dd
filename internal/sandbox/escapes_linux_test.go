package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// attempt is a way out that somebody might try. It has worked when anything outside is different afterwards, when the
// canary comes in, or when the script itself says ESCAPED, about what cannot be seen from outside.
//
// Nothing is tried that would do real harm to the machine, should the isolation ever fail: to be able to is enough.
//
// A script knows: $OUT, a folder outside that everybody may write to, with a file and a .ssh in it; $VICTIM, a process
// outside with the canary in its environment, and $SERVER; $API, $DNS, $SOCKET, $ABSTRACT, where something listens; $OWN, all addresses of this
// machine; $SHM, a piece of shared memory. ./attack is this test program, and $MARK what a sleep is to be told for, so that it is found.
// Environments that show more have $LOGS, for reading, with a hidden file, the server's data, links that lead out, and sockets; and $APP, which is
// written, with a hidden file in a folder, and a repository.
type attempt struct {
	name   string
	script string
	later  string   // a second command in the same workspace
	fresh  bool     // the workspace is no repository
	hosts  []string // granted
	in     string   // kinds of environments in which it is made; empty: all
}

// escapes are made in a workspace of their own each: they leave something in it, or processes.
var escapes = []attempt{
	// Links.
	{name: "a link that leads outside", script: `echo bad > link-to-file; echo bad > link-to-folder/new; echo bad > link-to-folder/file; cat link-to-file link-to-folder/.ssh/*`},
	{name: "a new link that leads outside", script: `ln -s $OUT/file a; ln -s $OUT b; ln -s / c; echo bad > a; echo bad > b/new; echo bad > c$OUT/file; cat a b/file c$OUT/file`},
	{name: "a hard link to outside", script: `ln $OUT/file hard && echo ESCAPED; ln -L link-to-file hard2 && echo ESCAPED; echo bad > hard; cat hard hard2`},
	{name: "a hard link to the system", script: `ln /usr/bin/env env && echo ESCAPED; ln /etc/passwd passwd && echo ESCAPED; echo bad > passwd`},
	{name: "a hard link to what is guarded", script: `ln .git/config second; echo bad > second; ln .git/hooks/post-update.sample .git/second; echo bad > .git/second`},
	{name: "a swap of links", script: `(for i in 1 2 3 4 5 6 7 8 9; do ln -sfn $OUT swap; ln -sfn . swap; done) & for i in 1 2 3 4 5 6 7 8 9; do echo bad > swap/file; done; wait; rm -f file swap`},

	// What is obeyed outside, later.
	{name: "a git hook", script: `echo bad > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo bad > .git/hooks/post-update.sample`},
	{name: "hooks moved aside", script: `mv .git/hooks .git/x; mv .git x; rm -rf .git; mkdir -p .git/hooks; echo bad > .git/hooks/pre-commit`},
	{name: "core.hooksPath", script: `git config core.hooksPath evil; git config core.fsmonitor evil; echo '[core] hooksPath = evil' >> .git/config`},
	{name: "a common folder for git", script: `mkdir evil; echo ../evil > .git/commondir; echo bad > .git/config.worktree; mkdir -p .git/modules/x; echo bad > .git/modules/x/config`},
	{name: "a repository where none is", fresh: true, script: `mkdir -p .git/hooks; echo bad > .git/hooks/pre-commit; printf '[core]\n\tfsmonitor = evil\n' > .git/config; echo ref: x > .git/HEAD`},
	{name: "a .git that is a file", fresh: true, script: `mkdir evil; echo 'gitdir: evil' > .git`},
	{name: "a .git that is a link", fresh: true, script: `mkdir -p evil/hooks; ln -s evil .git`},
	{name: "the workspace as a repository", fresh: true, script: `mkdir objects refs hooks; echo 'ref: x' > HEAD; echo bad > config`},
	{name: "orders for editors and shells", script: `mkdir -p .vscode .cursor; echo bad > .vscode/tasks.json; echo bad > .vscode/settings.json; echo bad > .cursor/mcp.json; echo bad > .envrc`},
	{name: "orders for agents", script: `mkdir -p .claude .codex .gemini .opencode; for f in .claude/settings.json .claude/settings.local.json .codex/config.toml .gemini/settings.json .opencode/x .mcp.json opencode.json opencode.jsonc; do echo bad > $f; done`},
	{name: "orders behind a link", script: `mkdir evil; echo bad > evil/settings.json; ln -s $PWD/evil .claude; ln -s evil .vscode; ln -s evil .opencode`},
	{name: "the server's configuration", script: `echo bad > signoff.yaml; rm -f signoff.yaml; echo bad > signoff.yaml; mv linked.yaml x; echo bad > linked.yaml`},
	{name: "the server's data", script: `cat data/*; echo bad > data/signoff.db; mv data x; rm -rf data; mkdir data; echo bad > data/token; umount data && echo ESCAPED`},
	{name: "a file that runs as its owner", script: `cp /bin/sh s; chmod 4755 s; cp /bin/sh g; chmod 2755 g; chmod u+s s; install -m 6755 /bin/sh i; ./attack __attack setuid`},
	{name: "start-up files for the next command", script: `for f in .bashrc .profile .bash_profile .gitconfig .inputrc .npmrc; do echo 'echo PLANTED' > ~/$f; done; echo 'echo PLANTED' > /tmp/env`,
		later: `bash -ic true; bash -lc true; BASH_ENV=/tmp/env bash -c true; sh -lc true; ls ~/.[a-z]* /tmp/env && echo ESCAPED`},
	{name: "a library for the next command", script: `echo bad > /etc/ld.so.preload; echo bad > /tmp/evil.so; export LD_PRELOAD=/tmp/evil.so BASH_ENV=/tmp/evil`,
		later: `env | grep -E 'LD_|BASH_ENV' && echo ESCAPED; cat /etc/ld.so.preload /tmp/evil.so && echo ESCAPED`},
	{name: "/tmp that others see", script: `echo PLANTED > /tmp/PLANTED; echo PLANTED > /var/tmp/PLANTED; echo PLANTED > /dev/shm/PLANTED`, later: `cat /tmp/* /var/tmp/* /dev/shm/*`},

	// Mounts.
	{name: "a file of a mount that runs as its owner", in: shownKinds, script: `./attack __attack setuid; cp attack $APP/program; cd $APP && ./program __attack setuid; cp /bin/sh s; chmod 4755 s; chmod u+s s; cp /bin/sh g; chmod 2755 g; install -m 6755 /bin/sh i; chown 0:0 s`},
	{name: "move the folder of what is hidden", in: shownKinds, script: `mv $APP/sub $APP/moved; mkdir $APP/sub; echo > $APP/sub/hidden`, later: `cat $APP/moved/hidden $APP/sub/hidden`},
	{name: "orders in a mount", in: shownKinds, script: `cd $APP; mkdir -p .claude .vscode .opencode .git/hooks .git/modules/x; for f in .claude/settings.json .vscode/tasks.json .envrc .mcp.json .opencode/x signoff.yaml .git/hooks/pre-commit .git/config .git/commondir; do echo bad > $f; done; mv .git x; mkdir -p .git/hooks; echo bad > .git/hooks/pre-commit`},
	{name: "orders behind a link of a mount", in: shownKinds, script: `cd $APP; mkdir evil; echo bad > evil/settings.json; ln -s evil .claude; ln -s $APP/evil .vscode; ln -sfn evil .git`},
	{name: "links between two commands of a mount", in: shownKinds, script: `ln -s $LOGS/secret $APP/l1; ln -s $OUT $APP/l2; ln -s $LOGS $APP/l3`, later: `cat $APP/l1 $APP/l2/file $APP/l3/secret; echo bad > $APP/l2/new; echo bad > $APP/l3/new`},

	// Other processes.
	{name: "signals", script: `kill -9 $VICTIM; kill -9 -$VICTIM; kill -TERM $SERVER; kill -0 $SERVER && echo ESCAPED; true`},
	{name: "signals to PID 1", script: `kill -TERM 1; kill -STOP 1; kill -9 1; kill -CONT 1; true`},
	{name: "setsid and double fork", script: `setsid sleep $MARK & (setsid sh -c "sleep $MARK & exit" &); (trap '' HUP TERM; setsid nohup sleep $MARK) & sleep 0.1`},
	{name: "the rest of a fork bomb", script: `b() { (setsid sleep $MARK &); b; }; b & sleep 0.3`},

	// Network.
	{name: "our own API, by the proxy", hosts: []string{"*"}, script: `for h in localhost 127.0.0.1 0.0.0.0 [::1] [::ffff:127.0.0.1] 2130706433 127.1 0x7f000001 [::] LOCALHOST. [64:ff9b::7f00:1]; do
		./attack __attack via $h:${API#*:}; done; ./attack __attack dial tcp $API`},
	{name: "metadata, by the proxy", hosts: []string{"*"}, script: `for h in 169.254.169.254 [::ffff:169.254.169.254] [fd00:ec2::254] 2852039166 169.254.169.254. 100.100.100.200 168.63.129.16; do ./attack __attack via $h:80; done`},
	{name: "a host that was not granted", hosts: []string{"granted.example", "*.below.example"}, script: `for h in localhost x.localhost granted.example.localhost granted.example@localhost localhost#.below.example \
		localhost%00.below.example xn--localhost LOCALHOST localhost. 127.0.0.1; do ./attack __attack via $h:${API#*:}; done; ./attack __attack via "$(printf 'localhost\001.below.example')":${API#*:}`},
	{name: "the proxy's socket kept open", hosts: []string{"*"}, script: `setsid sh -c "exec 3<>/dev/null; sleep $MARK" & bash -c 'exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; sleep '$MARK'' & sleep 0.1`},
}

// refusals are ways out that leave nothing where they are refused, so that many can be made in one command: the start of a sandbox takes
// a hundred times longer than a refusal.
var refusals = map[string][]attempt{
	"writing to files outside": {
		{name: "write outside", script: `echo bad > $OUT/file; echo bad > $OUT/new; rm -rf $OUT`},
		{name: "write by ..", script: `echo bad > $PWD/../new; echo bad > ../../new; mkdir ../twin`},
		{name: "write to a home", script: `mkdir -p ~root /home/x; for h in ~root /home/* $OUT; do : >> $h/.bashrc && echo ESCAPED; mkdir -p $h/.ssh; : >> $h/.ssh/authorized_keys; done`},
		{name: "write to /etc", script: `: >> /etc/passwd && echo ESCAPED; : >> /etc/hosts && echo ESCAPED; : >> /etc/ld.so.preload && echo ESCAPED; echo bad > /etc/cron.d/PLANTED; ln /etc/passwd /etc/PLANTED`},
		{name: "write to the system", script: `echo bad > /PLANTED; echo bad > /usr/PLANTED; echo bad > /usr/bin/PLANTED; echo bad > /lib/PLANTED`},
		{name: "write to /run, /var and /dev", script: `for d in /run /var /var/tmp /var/spool/cron /dev /dev/shm /tmp /opt /srv; do echo bad > $d/PLANTED; done`},
		{name: "write by /proc/1/root", script: `echo bad > /proc/1/root$OUT/file; echo bad > /proc/1/root/etc/PLANTED; echo bad > /proc/1/cwd/PLANTED`},
		{name: "write by /proc/self/root", script: `echo bad > /proc/self/root$OUT/file; echo bad > /proc/self/root/etc/PLANTED; echo bad > /proc/$SERVER/root$OUT/file`},
		{name: "append to what is being run", script: `for e in /proc/[0-9]*/exe; do : >> $e && echo ESCAPED; done; : >> /bin/sh && echo ESCAPED`},
	},
	"reading files outside": {
		{name: "read outside", script: `cat $OUT/file $OUT/.ssh/id_ed25519; find / -name id_ed25519 -exec cat {} + 2>&1; ls $OUT && echo ESCAPED`},
		{name: "read ~/.ssh and other homes", script: `ls -A ~root/.ssh ~root /home/* && echo ESCAPED; cat $OUT/.ssh/*`},
		{name: "read what only root may", script: `for f in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/*_key; do cat $f | grep . && echo ESCAPED; done; ls -A /home /root /mnt /media /boot /var/lib /var/spool /var/cache /run/* | grep -v : | grep . | grep -v -x -e signoff -e bin -e home -e hosts -e KEY && echo ESCAPED`},
		{name: "see what only machine shows", in: "workspace app readOnly", script: `ls -A /opt /srv /var/log /etc/default /etc/systemd | grep -v : | grep . && echo ESCAPED`},
		{name: "read by /proc", script: `cat /proc/$VICTIM/environ /proc/$VICTIM/root$OUT/file /proc/$VICTIM/cwd/file /proc/*/environ /proc/*/cwd/file`},
		{name: "read by PID 1", script: `cat /proc/1/root$OUT/file /proc/1/environ /proc/1/cwd/file; cat /proc/1/fd/*; cat /proc/1/root/etc/shadow && echo ESCAPED`},
		{name: "read the kernel's memory", script: `head -c 1 /proc/kcore | grep -q . && echo ESCAPED; head -c 1 /dev/mem && echo ESCAPED; head -c 1 /dev/kmsg && echo ESCAPED`},
		{name: "read disks", script: `for d in /dev/sd* /dev/vd* /dev/nvme* /dev/loop*; do head -c 1 $d && echo ESCAPED; done`},
		{name: "see other processes", script: `ls -d /proc/$VICTIM /proc/$SERVER && echo ESCAPED; cat /proc/[0-9]*/cmdline | tr '\0' ' ' | grep -e '[-]test[.]' && echo ESCAPED`},
		{name: "inherited descriptors", script: `for f in /proc/self/fd/*; do case ${f##*/} in [0-2]) ;; *) cat <&${f##*/}; echo bad >&${f##*/};; esac; done 2>&1; cat /proc/*/fd/[3-9]*`},
	},
	"other processes": {
		{name: "ptrace", script: `./attack __attack trace $VICTIM; ./attack __attack trace $SERVER; ./attack __attack trace 1`},
		{name: "memory of another process", script: `./attack __attack peek $VICTIM; ./attack __attack peek 1; head -c 1 /proc/1/mem && echo ESCAPED; echo bad > /proc/1/mem && echo ESCAPED`},
		{name: "descriptors of another process", script: `./attack __attack steal $VICTIM; ./attack __attack steal $SERVER; ./attack __attack steal 1`},
		{name: "priority and OOM score", script: `renice -n -5 $$ && echo ESCAPED; echo -1000 > /proc/self/oom_score_adj && echo ESCAPED; echo -1000 > /proc/1/oom_score_adj && echo ESCAPED`},
		{name: "typing into a terminal", script: `./attack __attack type; echo bad > /dev/tty && echo ESCAPED; echo bad > /dev/console && echo ESCAPED`},
		{name: "shared memory", script: `./attack __attack share $SHM; ipcs -m | grep -i $(printf 0x%08x $SHM) && echo ESCAPED`},
	},
	"network": {
		{name: "our own API", script: `bash -c "cat < /dev/tcp/${API%:*}/${API#*:}"; ./attack __attack dial tcp $API`},
		{name: "Postgres and others on the loopback", script: `for p in 5432 6379 8080 2375 22; do bash -c ": < /dev/tcp/127.0.0.1/$p" && echo ESCAPED; done; ./attack __attack dial tcp "[::1]:5432"`},
		{name: "a socket by its path", script: `./attack __attack dial unix $SOCKET; for s in /run/docker.sock /var/run/docker.sock /run/systemd/private /run/dbus/system_bus_socket; do ./attack __attack dial unix $s; done`},
		{name: "an abstract socket", script: `./attack __attack dial unix $ABSTRACT; ./attack __attack dial unixgram $ABSTRACT; grep -a "${ABSTRACT#@}" /proc/net/unix && echo ESCAPED`},
		{name: "metadata of the cloud", script: `bash -c ': < /dev/tcp/169.254.169.254/80' && echo ESCAPED; ./attack __attack dial tcp 169.254.169.254:80; ./attack __attack dial tcp "[fd00:ec2::254]:80"`},
		{name: "the internet", script: `for a in 1.1.1.1:443 8.8.8.8:53 "[2606:4700::1111]:443"; do ./attack __attack dial tcp $a; ./attack __attack dial udp $a; done`},
		{name: "secrets in DNS", script: `./attack __attack dial udp $DNS; getent hosts canary.example.com && echo ESCAPED; ./attack __attack dial udp 127.0.0.53:53 && true; ./attack __attack dial udp 224.0.0.251:5353`},
		{name: "an interface of its own", script: `ip link add dummy0 type dummy && echo ESCAPED; ip addr add 10.0.0.1/8 dev lo && echo ESCAPED; ip route add default dev lo && echo ESCAPED`},
	},
	"hidden files": {
		{name: "read hidden files by their names", in: shownKinds, script: `cat $LOGS/secret $LOGS/data/token $APP/sub/hidden; ls -A $LOGS/data | grep . && echo ESCAPED`},
		{name: "read all that holds a canary", script: `grep -rshI --exclude=attack canary- /etc /opt /srv /var /home /root /run /mnt /media /boot /tmp /dev/shm ${LOGS:-/nowhere} ${APP:-/nowhere}`},
		{name: "read by links that lead out of a mount", in: shownKinds, script: `cat $LOGS/link $LOGS/folder/file $LOGS/folder/.ssh/* $LOGS/up; ls -A $LOGS/root/root $LOGS/root/home/* && echo ESCAPED`},
		{name: "read by new links", in: shownKinds, script: `for d in . $APP /tmp; do ln -s $LOGS/secret $d/l; ln -s $LOGS/data $d/m; ln $LOGS/secret $d/h; ln $APP/sub/hidden $d/i; cat $d/l $d/m/token $d/h $d/i; rm -f $d/l $d/m; done`},
		{name: "read by /proc/self/root and mounts", in: shownKinds, script: `for r in /proc/self/root /proc/1/root /proc/self/cwd/../../../../..; do cat $r$LOGS/secret $r$LOGS/data/token $r$APP/sub/hidden; done; cat /proc/self/mountinfo | grep -o ' /.*token' && echo ESCAPED`},
		{name: "move what is hidden", in: shownKinds, script: `mv $LOGS/secret $LOGS/x; mv $LOGS/data $LOGS/y; mv $APP/sub/hidden $APP/x; mv $APP/sub $APP/y; rm -rf $APP/sub; cat $LOGS/x $LOGS/y/token $APP/x $APP/y/hidden`},
		{name: "exchange what is hidden", in: shownKinds, script: `mkdir -p $APP/z; mv -T --exchange $APP/z $APP/sub; python3 -c 'import os,ctypes; ctypes.CDLL(None).renameat2(-100,b"'$APP'/z",-100,b"'$APP'/sub",2)'; cat $APP/z/hidden; rmdir $APP/z`},
		{name: "uncover what is hidden", in: shownKinds, script: `umount $LOGS/secret && echo ESCAPED; umount -l $LOGS/data && echo ESCAPED; rm -f $LOGS/secret; truncate -s 1 $LOGS/secret; cat < $LOGS/secret; dd if=$LOGS/secret bs=1 count=99`},
		{name: "rewrite what is lent", in: "app readOnly", script: `: > $KEY && echo ESCAPED; rm -f $KEY && echo ESCAPED; chmod 777 $KEY && echo ESCAPED; mv $KEY /tmp && echo ESCAPED; echo bad > /run/signoff/other && echo ESCAPED; ls -l /proc/*/fd | grep memfd && echo ESCAPED`},
		{name: "rewrite the names of hosts", in: shownKinds, script: `: >> /etc/hosts && echo ESCAPED; rm -f /etc/hosts && echo ESCAPED; : > /run/signoff/hosts && echo ESCAPED; mv /etc/hosts /tmp && echo ESCAPED`},
		{name: "exchange the programs of Signoff", in: "app readOnly", script: `: > /run/signoff/bin/ps && echo ESCAPED; rm -f /run/signoff/bin/ps && echo ESCAPED; : >> /run/signoff/bin/ps && echo ESCAPED; ln -sf /bin/sh /run/signoff/bin/top && echo ESCAPED`},
	},
	"mounts": {
		{name: "write to what is for reading", in: shownKinds, script: `: >> $LOGS/file && echo ESCAPED; : > $LOGS/new && echo ESCAPED; rm -f $LOGS/file && echo ESCAPED; mv $LOGS/file $LOGS/x && echo ESCAPED; chmod 777 $LOGS/file && echo ESCAPED; touch -d 2001-01-01 $LOGS/file && echo ESCAPED
			mkdir $LOGS/d && echo ESCAPED; ln -s x $LOGS/l && echo ESCAPED; ln $LOGS/file $LOGS/h && echo ESCAPED; truncate -s 0 $LOGS/file && echo ESCAPED; setfattr -n user.x -v y $LOGS/file && echo ESCAPED`},
		{name: "write to the machine", in: "machine", script: `for d in /etc /opt /srv /var/log /usr /var /; do : > $d/PLANTED && echo ESCAPED; mkdir $d/PLANTED && echo ESCAPED; done; for f in /etc/passwd /etc/hostname /etc/fstab /etc/crontab; do [ -e $f ] && (: >> $f) && echo ESCAPED; done; true`},
		{name: "write where nothing may be written", in: "readOnly", script: `: > here && echo ESCAPED; : > $APP/there && echo ESCAPED; rm -f signoff.yaml attack $APP/file && echo ESCAPED; chmod 777 . $APP && echo ESCAPED; mv attack x && echo ESCAPED; touch . $APP && echo ESCAPED`},
		{name: "remount what is for reading", in: shownKinds, script: `mount -o remount,rw $LOGS && echo ESCAPED; mount -o remount,bind,rw $LOGS && echo ESCAPED; mount --bind $APP $LOGS && echo ESCAPED; mount -o remount,suid $APP && echo ESCAPED`},
		{name: "a device of a mount", in: shownKinds, script: `mknod $APP/disk b 254 0 && echo ESCAPED; mknod $APP/mem c 1 1 && echo ESCAPED; head -c 1 $APP/disk && echo ESCAPED; true`},
		{name: "another owner by the mapped mount", in: shownKinds, script: `: > $APP/own; for u in 0 1 12345 65533; do chown $u $APP/own && [ "$(id -u)" != $u ] && echo ESCAPED; done; rm -f $APP/own; setpriv --reuid 0 true && [ "$(id -u)" != 0 ] && echo ESCAPED; true`},
		{name: "rights of root's by the mapped mount", in: shownKinds, script: `setcap cap_setuid+ep $APP/s && echo ESCAPED; setfattr -n trusted.x -v y $APP && echo ESCAPED; setfattr -n security.capability -v 0x01 $APP/file && echo ESCAPED; true`},
	},
	"sockets of the machine": {
		{name: "a local socket at all", in: shownKinds, script: `./attack __attack localsockets | grep -v -e 'socket refused' -e 'socketpair made' && echo ESCAPED; python3 -c 'import socket; socket.socket(socket.AF_UNIX); print("ESCAPED")'`},
		{name: "the database by its socket", in: shownKinds, script: `for s in $LOGS/.s.PGSQL.5432 $LOGS/docker.sock $LOGS/bus; do ./attack __attack dial unix $s; ./attack __attack dial unixpacket $s; done`},
		{name: "datagrams to a socket with a path", in: shownKinds, script: `./attack __attack pair $LOGS/notify; ./attack __attack dial unixgram $LOGS/notify; python3 -c 'import socket; a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"x", "'$LOGS/notify'")'`},
		{name: "a socket of a well-known program", in: shownKinds, script: `for s in /run/docker.sock /run/containerd/containerd.sock /run/dbus/system_bus_socket /run/systemd/private /run/systemd/notify /run/postgresql/.s.PGSQL.5432 /tmp/.s.PGSQL.5432 /tmp/.X11-unix/X0 /dev/log /run/udev/control /run/user/0/bus /var/run/libvirt/libvirt-sock; do [ -e $s ] && echo ESCAPED; ./attack __attack dial unix $s; done; true`},
	},
	"networks": {
		{name: "the server by each address of this machine", in: shownKinds, script: `for a in $OWN; do ./attack __attack via $a:${API#*:} | grep -q -e '^40[03]' -e '^refused: malformed' || echo ESCAPED $a; done; for a in $OWN; do ./attack __attack dial tcp $a:${API#*:}; done`},
		{name: "metadata and private addresses", in: shownKinds, script: `for h in 169.254.169.254 [::ffff:169.254.169.254] [fd00:ec2::254] 100.100.100.200 168.63.129.16 192.168.77.1 172.16.77.1 10.77.77.77 [fd77::1] [fe80::1] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::1]; do
			./attack __attack via $h:80 | grep -q '^403' || echo ESCAPED $h; done`},
		{name: "a listed host by a port that is not listed", in: shownKinds, script: `for p in 22 25 2375 5432; do ./attack __attack via listed.example:$p | grep -q '^403' || echo ESCAPED $p; ./attack __attack via 10.88.88.88:$p | grep -q '^403' || echo ESCAPED $p; done`},
		{name: "hosts that no network lists", in: shownKinds, script: `for h in example.com listed.example.com xlisted.example localhost sub.listed.example wild.example '*.wild.example'; do ./attack __attack via $h:443 | grep -q -e '^40[03]' || echo ESCAPED $h; done`},
		{name: "the list of processes as a way out", in: "app readOnly", script: `./attack __attack flood 127.0.0.2:1; ps -e -o pid= | grep -q . || echo ESCAPED: the list is gone; kill -9 $VICTIM && echo ESCAPED; ls -d /proc/$VICTIM /proc/$SERVER && echo ESCAPED; true`},
	},
	"the isolation itself": {
		{name: "mount", script: `mount -t tmpfs none /tmp && echo ESCAPED; mount -o remount,rw /usr && echo ESCAPED; mount --bind / /tmp && echo ESCAPED; umount /usr && echo ESCAPED; umount -l . && echo ESCAPED`},
		{name: "user namespaces", script: `unshare -r true && echo ESCAPED; unshare -Ur mount -t tmpfs none /tmp && echo ESCAPED; unshare -m true && echo ESCAPED; nsenter -t 1 -m true && echo ESCAPED`},
		{name: "chroot", script: `mkdir -p jail; chroot jail / && echo ESCAPED; chroot / true && echo ESCAPED; ./attack __attack chroot`},
		{name: "device nodes", script: `mknod disk b 254 0 && echo ESCAPED; mknod mem c 1 1 && echo ESCAPED; mknod /tmp/disk b 8 0 && echo ESCAPED`},
		{name: "other users", script: `chown 12345 . && echo ESCAPED; chgrp 12345 . && echo ESCAPED; su -c id nobody < /dev/null && echo ESCAPED; sudo -n id && echo ESCAPED`},
		{name: "capabilities", script: `grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED; setcap cap_sys_admin+ep attack && echo ESCAPED`},
		{name: "setuid programs", script: `grep -vE ' (rw|ro),[^ ]*nosuid|^(proc|devpts)' /proc/self/mounts && echo ESCAPED; grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED`},
		{name: "core_pattern", script: `: > /proc/sys/kernel/core_pattern && echo ESCAPED; : > /proc/sys/kernel/modprobe && echo ESCAPED`},
		{name: "binfmt_misc", script: `: > /proc/sys/fs/binfmt_misc/register && echo ESCAPED`},
		{name: "sysrq and settings of the machine", script: `: > /proc/sysrq-trigger && echo ESCAPED; : > /proc/sys/vm/drop_caches && echo ESCAPED; : > /proc/sys/kernel/hostname && echo ESCAPED; hostname x && echo ESCAPED`},
		{name: "/sys", script: `: > /sys/kernel/uevent_helper && echo ESCAPED; ls /sys/* && echo ESCAPED; : > /sys/power/state && echo ESCAPED`},
		{name: "release_agent of a cgroup", script: `mkdir -p /sys/fs/cgroup/x && echo ESCAPED; mkdir c; mount -t cgroup -o memory none c && echo ESCAPED; echo x > c/release_agent && rm -r c && find / -name release_agent 2>&1 | grep -v find: | grep / && echo ESCAPED`},
		{name: "limits", script: `ulimit -n 1000000 && echo ESCAPED; ulimit -c unlimited && echo ESCAPED; ./attack __attack limit`},
		{name: "modules and the kernel's log", script: `insmod x.ko && echo ESCAPED; modprobe dummy && echo ESCAPED; dmesg && echo ESCAPED; true`},
		{name: "a program that lies in memory", script: `./attack __attack memfd`},
	},
}

// calls are made with the least that gets them past a filter that is not there: whatever the kernel then says about the
// arguments, it has begun to look at them.
var calls = map[string][]uintptr{
	"unshare user":      {unix.SYS_UNSHARE, unix.CLONE_NEWUSER},
	"clone user":        {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)},
	"clone3":            {unix.SYS_CLONE3, 0, 0},
	"setns":             {unix.SYS_SETNS, ^uintptr(0), 0},
	"keyctl":            {unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 1},
	"add_key":           {unix.SYS_ADD_KEY, 0, 0, 0, 0, ^uintptr(3)},
	"request_key":       {unix.SYS_REQUEST_KEY, 0, 0, 0, 0},
	"bpf":               {unix.SYS_BPF, 0, 0, 0},
	"io_uring":          {unix.SYS_IO_URING_SETUP, 1, 0},
	"perf":              {unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0},
	"userfaultfd":       {unix.SYS_USERFAULTFD, 1},
	"vsock":             {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0},
	"alg":               {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
	"packet":            {unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0},
	"bluetooth":         {unix.SYS_SOCKET, unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
	"kcm":               {unix.SYS_SOCKET, unix.AF_KCM, unix.SOCK_SEQPACKET, 0},
	"xdp":               {unix.SYS_SOCKET, unix.AF_XDP, unix.SOCK_RAW, 0},
	"rds":               {unix.SYS_SOCKET, unix.AF_RDS, unix.SOCK_SEQPACKET, 0},
	"tipc":              {unix.SYS_SOCKET, unix.AF_TIPC, unix.SOCK_SEQPACKET, 0},
	"can":               {unix.SYS_SOCKET, unix.AF_CAN, unix.SOCK_RAW, 1},
	"io_uring_enter":    {unix.SYS_IO_URING_ENTER, ^uintptr(0), 0, 0, 0, 0},
	"io_uring_register": {unix.SYS_IO_URING_REGISTER, ^uintptr(0), 0, 0, 0},
	"open_tree_attr":    {unix.SYS_OPEN_TREE_ATTR, ^uintptr(99), 0, unix.OPEN_TREE_CLONE, 0, 0},
	"fsmount":           {unix.SYS_FSMOUNT, ^uintptr(0), 0, 0},
	"fspick":            {unix.SYS_FSPICK, ^uintptr(99), 0, 0},
	"fsconfig":          {unix.SYS_FSCONFIG, ^uintptr(0), 0, 0, 0, 0},
	"chroot":            {unix.SYS_CHROOT, 0},
	"openat2":           {unix.SYS_OPENAT2, ^uintptr(99), 0, 0, 0},
	"finit_module":      {unix.SYS_FINIT_MODULE, ^uintptr(0), 0, 0},
	"delete_module":     {unix.SYS_DELETE_MODULE, 0, 0},
	"clock_settime":     {unix.SYS_CLOCK_SETTIME, 0, 0},
	"swapon":            {unix.SYS_SWAPON, 0, 0},
	"raw":               {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
	"raw over IPv6":     {unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
	"x32 getpid":        {x32Bit + unix.SYS_GETPID},
	"mount":             {unix.SYS_MOUNT, 0, 0, 0, 0, 0},
	"umount2":           {unix.SYS_UMOUNT2, 0, 0},
	"pivot_root":        {unix.SYS_PIVOT_ROOT, 0, 0},
	"fsopen":            {unix.SYS_FSOPEN, 0, 0},
	"open_tree":         {unix.SYS_OPEN_TREE, ^uintptr(99), 0, unix.OPEN_TREE_CLONE},
	"move_mount":        {unix.SYS_MOVE_MOUNT, ^uintptr(0), 0, ^uintptr(0), 0, 0},
	"mount_setattr":     {unix.SYS_MOUNT_SETATTR, ^uintptr(0), 0, 0, 0, 0},
	"open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(0), 0, 0},
	"init_module":       {unix.SYS_INIT_MODULE, 0, 0, 0},
	"kexec_load":        {unix.SYS_KEXEC_LOAD, 0, 0, 0, 0},
	"set time":          {unix.SYS_SETTIMEOFDAY, 0, 0},
	"syslog":            {unix.SYS_SYSLOG, 3, 0, 0},
	"reboot":            {unix.SYS_REBOOT, 0, 0, 0, 0},
	"swapoff":           {unix.SYS_SWAPOFF, 0},
	"acct":              {unix.SYS_ACCT, 1},
	"quotactl":          {unix.SYS_QUOTACTL, 0, 0, 0, 0},
}

// TestProbe tries everything that leaves nothing in one command, and looks at the world afterwards.
func TestProbe(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		for _, kind := range attacked() {
			t.Run(kind, func(t *testing.T) {
				w := newWorld(t, s, kind)
				var script strings.Builder
				var names []string
				for _, one := range w.made(slices.Concat(slices.Collect(maps.Values(refusals))...)) {
					fmt.Fprintf(&script, "(%s\n)\necho; echo %q\n", one.script, "tried "+one.name)
					names = append(names, one.name)
				}
				script.WriteString("./attack __attack calls\n")
				names = slices.AppendSeq(names, maps.Keys(calls))
				output := w.withstands(t, attempt{script: script.String()})
				for _, name := range names {
					wasTried(t, name, output)
				}
				t.Logf("%s: %d attacks in one sandbox", kind, len(names))
			})
		}
	})
}

// TestEscapes makes the attempts that leave something, each in a sandbox of its own.
func TestEscapes(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		for _, kind := range attacked() {
			t.Run(kind, func(t *testing.T) {
				w := newWorld(t, s, kind)
				all := w.made(escapes)
				for _, one := range all {
					t.Run(one.name, func(t *testing.T) { w.withstands(t, one) })
				}
				t.Logf("%s: %d attacks in a sandbox each", kind, len(all))
			})
		}
	})
}

// kinds of environments. readOnly is app, narrowed.
var kinds = []string{"workspace", "machine", "app", "readOnly"}

// allEscapes is the variable with which [TestProbe] and [TestEscapes] go through all kinds, and [TestOrdinaryUser] through nothing else.
const allEscapes = "SIGNOFF_TEST_ESCAPES"

// attacked are the kinds to break out of. All of them, as root and as an ordinary user, take minutes: `make escapes`.
func attacked() []string {
	if os.Getenv(allEscapes) != "" {
		return kinds
	}
	return kinds[:1]
}

const shownKinds = "machine app readOnly"

// made are the attempts that make sense in the world's kind.
func (w *world) made(all []attempt) []attempt {
	return slices.DeleteFunc(slices.Clone(all), func(one attempt) bool {
		return one.in != "" && !slices.Contains(strings.Fields(one.in), w.kind)
	})
}

func wasTried(t *testing.T, name, output string) {
	t.Helper()
	if !strings.Contains(output, "tried "+name+"\n") {
		t.Errorf("%s was not tried, output:\n%s", name, output)
	}
}

// TestEscapesAreSeen takes the isolation away: an attempt that would go unnoticed then says nothing about it.
func TestEscapesAreSeen(t *testing.T) {
	for _, one := range slices.Concat(escapes, slices.Concat(slices.Collect(maps.Values(refusals))...)) {
		switch one.name {
		case "write outside", "write by ..", "a link that leads outside", "a git hook", "a repository where none is", "orders for agents",
			"the server's configuration", "the server's data", "a file that runs as its owner", "our own API", "a socket by its path",
			"an abstract socket", "shared memory", "chroot":
			t.Run(one.name, func(t *testing.T) {
				if worked, output := newWorld(t, open(byPIDNamespace), "host").suffer(t, one); len(worked) == 0 {
					t.Errorf("nothing was seen, output:\n%s", output)
				}
			})
		}
	}
}

// world is what lies outside, with something in every place that an attempt could reach for.
type world struct {
	sandbox  *Sandbox
	kind     string
	outside  string
	logs     string // a mount for reading
	app      string // a mount that is written
	program  string
	canary   string
	victim   *exec.Cmd
	contacts atomic.Int64
	env      []string
	network  domain.Network
}

func newWorld(t *testing.T, s *Sandbox, kind string) *world {
	w := &world{sandbox: s, kind: kind, outside: folder(t), canary: "canary-" + mark()}
	w.program = attacker(t, folder(t))
	write(t, filepath.Join(w.outside, "file"), w.canary)
	write(t, filepath.Join(w.outside, ".ssh/id_ed25519"), w.canary)
	write(t, filepath.Join(w.outside, "lent"), "lent")
	must(t, os.Chmod(w.outside, 0o777)) // only the isolation protects it
	must(t, os.Chmod(filepath.Join(w.outside, "file"), 0o666))
	w.startVictim(t)
	leak(t, filepath.Join(w.outside, "file"))
	api := w.listen(t, "tcp", "127.0.0.1:0")
	w.env = []string{
		"OUT=" + w.outside, fmt.Sprint("VICTIM=", w.victim.Process.Pid), fmt.Sprint("SERVER=", os.Getpid()),
		"API=" + api, "SOCKET=" + w.listen(t, "unix", filepath.Join(w.outside, "socket")),
		"ABSTRACT=" + w.listen(t, "unix", "@signoff-"+mark()), "DNS=" + w.listenDNS(t), fmt.Sprint("SHM=", w.share(t)),
	}
	if kind != "workspace" {
		w.furnish(t, api)
	}
	return w
}

// furnish makes the mounts, and a network that lists whatever a careless operator could.
func (w *world) furnish(t *testing.T, api string) {
	w.logs, w.app = folder(t), folder(t)
	for _, path := range []string{w.logs + "/secret", w.logs + "/data/token", w.app + "/sub/hidden", w.logs + "/keys/tls.key", w.logs + "/keys/.env"} {
		write(t, path, w.canary+" PRIVATE KEY")
		must(t, os.Chmod(path, 0o666))
	}
	for _, path := range []string{w.logs + "/file", w.app + "/file", w.app + "/.git/config", w.app + "/.git/HEAD"} {
		write(t, path, "good")
	}
	for name, target := range map[string]string{"link": w.outside + "/file", "folder": w.outside, "root": "/", "up": "../../../../../../.." + w.outside + "/file"} {
		must(t, os.Symlink(target, filepath.Join(w.logs, name)))
	}
	for _, name := range []string{".s.PGSQL.5432", "docker.sock", "bus"} {
		w.listen(t, "unix", filepath.Join(w.logs, name))
		must(t, os.Chmod(filepath.Join(w.logs, name), 0o777))
	}
	w.listenDatagrams(t, filepath.Join(w.logs, "notify"))
	_, port, err := net.SplitHostPort(api)
	must(t, err)
	number, err := strconv.ParseUint(port, 10, 16)
	must(t, err)
	own := []string{"0.0.0.0", "127.0.0.2", "127.1.2.3", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"}
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	w.network = domain.Network{Name: "corp", Hosts: []string{"listed.example", "*.wild.example", "10.88.88.88"}, Ports: []uint16{443, uint16(number)}}
	for _, address := range addresses {
		prefix := netip.MustParsePrefix(address.String())
		own = append(own, prefix.Addr().String())
		if prefix.Addr().Is4() {
			own = append(own, "::ffff:"+prefix.Addr().String())
		}
		w.network.CIDRs = append(w.network.CIDRs, prefix.Masked().String())
	}
	w.network.Hosts = append(w.network.Hosts, own...)
	for i, address := range own {
		if strings.Contains(address, ":") {
			own[i] = "[" + address + "]"
		}
	}
	w.env = append(w.env, "LOGS="+w.logs, "APP="+w.app, "OWN="+strings.Join(own, " "))
}

// environment is the one that the world's kind stands for.
func (w *world) environment() domain.Environment {
	reads := domain.Mount{Path: w.logs, Access: domain.AccessRead}
	networks := []domain.Network{w.network}
	switch w.kind {
	case "host":
		return domain.Environment{Name: "host", View: domain.ViewHost, AsServer: true}
	case "machine":
		return domain.Environment{
			Name: "machine", View: domain.ViewMachine, Networks: networks, Hidden: []string{w.logs + "/secret", w.app + "/sub/hidden"},
			Mounts: []domain.Mount{reads, {Path: w.app, Access: domain.AccessWrite}},
		}
	case "app", "readOnly":
		writes := domain.Mount{Path: w.app, Access: domain.AccessWrite}
		if w.kind == "readOnly" {
			writes.Access = domain.AccessRead
		}
		return domain.Environment{
			Name: "app", View: domain.ViewWorkspace, Networks: networks, Hidden: []string{w.logs + "/secret", w.app + "/sub/hidden"},
			Processes: domain.ProcessesHost, Files: map[string]string{"KEY": w.outside + "/lent"}, ReadOnly: w.kind == "readOnly",
			Mounts: []domain.Mount{writes, reads},
		}
	}
	return domain.Environment{Name: "workspace", View: domain.ViewWorkspace}
}

func (w *world) startVictim(t *testing.T) {
	w.victim = exec.Command("sleep", mark())
	w.victim.Env, w.victim.Dir = []string{"KEY=" + w.canary}, w.outside
	must(t, w.victim.Start())
	t.Cleanup(func() {
		_ = w.victim.Process.Kill()
		_ = w.victim.Wait()
	})
}

// leak opens a file as a careless library would: without close-on-exec.
func leak(t *testing.T, path string) {
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
}

// listen counts whoever comes, and gives him the canary.
func (w *world) listen(t *testing.T, network, address string) string {
	listener, err := net.Listen(network, address)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			w.contacts.Add(1)
			fmt.Fprint(connection, w.canary)
			connection.Close()
		}
	}()
	return listener.Addr().String()
}

// listenDatagrams counts what arrives at a local socket.
func (w *world) listenDatagrams(t *testing.T, path string) {
	socket, err := net.ListenPacket("unixgram", path)
	must(t, err)
	must(t, os.Chmod(path, 0o777))
	t.Cleanup(func() { socket.Close() })
	go w.count(socket)
}

func (w *world) listenDNS(t *testing.T) string {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { socket.Close() })
	go w.count(socket)
	return socket.LocalAddr().String()
}

func (w *world) count(socket net.PacketConn) {
	for {
		if _, _, err := socket.ReadFrom(make([]byte, 512)); err != nil {
			return
		}
		w.contacts.Add(1)
	}
}

// share leaves a piece of System V memory for whoever knows its number.
func (w *world) share(t *testing.T) int {
	key := 0x51600000 + os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	must(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return key
}

func (w *world) withstands(t *testing.T, one attempt) (output string) {
	worked, output := w.suffer(t, one)
	if len(worked) > 0 {
		t.Errorf("%s\noutput:\n%s", strings.Join(worked, "\n"), output)
	}
	return output
}

// suffer makes the attempt and tells how it has worked.
func (w *world) suffer(t *testing.T, one attempt) (worked []string, output string) {
	dir := w.workspace(t, one)
	m := mark()
	before := w.state(t, dir, one.fresh)
	for _, script := range []string{one.script, one.later} {
		if script == "" {
			continue
		}
		command := domain.Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: append(w.env, "MARK="+m), Hosts: one.hosts, Timeout: ample, Environment: w.environment()}
		text, result := run(t, w.sandbox, command)
		output += text
		if result.TimedOut {
			worked = append(worked, "it has not come to its end")
		}
	}
	if diff := cmp.Diff(before, w.state(t, dir, one.fresh)); diff != "" {
		worked = append(worked, "the world has changed:\n"+diff)
	}
	for _, sign := range []string{w.canary, "ESCAPED", "PLANTED\n"} {
		if strings.Contains(output, sign) {
			worked = append(worked, "the output holds "+sign)
		}
	}
	if len(alive(m)) > 0 {
		worked = append(worked, "processes have survived")
	}
	return worked, output
}

// workspace has all that is guarded, and links that lead out.
func (w *world) workspace(t *testing.T, one attempt) string {
	dir := folder(t)
	must(t, os.Link(w.program, filepath.Join(dir, "attack")))
	must(t, os.Symlink(filepath.Join(w.outside, "file"), filepath.Join(dir, "link-to-file")))
	must(t, os.Symlink(w.outside, filepath.Join(dir, "link-to-folder")))
	write(t, filepath.Join(dir, "data/signoff.db"), w.canary)
	config := write(t, filepath.Join(dir, "signoff.yaml"), "good")
	linked := filepath.Join(dir, "linked.yaml")
	must(t, os.Symlink(filepath.Join(w.outside, "file"), linked))
	if !one.fresh {
		write(t, filepath.Join(dir, ".git/config"), "[core]\n")
		write(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n")
		write(t, filepath.Join(dir, ".git/hooks/post-update.sample"), "good")
	}
	w.sandbox.config = Config{Network: networkTo(false), Hidden: []string{filepath.Join(dir, "data"), filepath.Join(w.logs, "data")}, ReadOnly: []string{config, linked}}
	must(t, w.sandbox.settlePaths())
	return dir
}

// obeyed are the places in a workspace whose content others act upon.
func obeyed() []string {
	all := append([]string{"signoff.yaml", "linked.yaml", "data/signoff.db", "data/token", ".git/hooks/pre-commit", ".git/hooks/post-update.sample"}, trusted...)
	for _, part := range gitParts {
		all = append(all, filepath.Join(".git", part))
	}
	return all
}

// state is what no attempt may change.
func (w *world) state(t *testing.T, dir string, fresh bool) map[string]string {
	state := map[string]string{"contacts": fmt.Sprint(w.contacts.Load()), "victim": "alive"}
	if w.victim.Process.Signal(syscall.Signal(0)) != nil || zombie(w.victim.Process.Pid) {
		state["victim"] = "dead"
	}
	for _, path := range []string{
		"/etc/passwd", "/etc/hosts", "/etc/ld.so.preload", "/root/.bashrc", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
		"/proc/sys/kernel/modprobe", "/proc/sys/kernel/pid_max", "/bin/sh", "/usr/bin/env", self,
	} {
		state[path] = looks(path)
	}
	for _, folder := range []string{"/", "/etc", "/etc/cron.d", "/usr", "/usr/bin", "/lib", "/run", "/var", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/opt", "/srv"} {
		state[folder+"/PLANTED"] = looks(folder + "/PLANTED")
	}
	for _, path := range obeyed() {
		state[path] = looks(filepath.Join(dir, path))
	}
	if text, err := os.ReadFile(filepath.Join(dir, gitConfig)); err == nil && fresh && plainConfig(string(text)) == string(text) {
		state[gitConfig] = ""
	}
	state["a repository's .git"] = fmt.Sprint(isPlain(dir, ".git") || looks(filepath.Join(dir, ".git")) == "")
	state["the workspace as a repository"] = fmt.Sprint(looks(filepath.Join(dir, "HEAD")) != "")
	for _, path := range obeyed() {
		state["mount "+path] = looks(filepath.Join(w.app, path))
	}
	for _, root := range []string{w.outside, filepath.Dir(dir), w.logs, w.app} {
		if root == "" {
			continue
		}
		must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			return w.look(state, dir, path, entry, err)
		}))
	}
	return state
}

// look takes in everything outside, and of the workspace what would run with its owner's rights.
func (w *world) look(state map[string]string, dir, path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return nil //nolint:nilerr // a folder that was made unreadable, in the workspace
	}
	info, err := entry.Info()
	if err != nil {
		return nil //nolint:nilerr // it is gone in the meantime
	}
	if within(dir, path) || w.app != "" && within(w.app, path) {
		if info.Mode().IsRegular() && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 || info.Mode()&fs.ModeDevice != 0 {
			state[path] = info.Mode().String()
		}
		return nil
	}
	state[path] = looks(path)
	return nil
}

// looks tells of a file what there is to tell; nothing where there is none.
func looks(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if path == self {
		info, _ = os.Stat(path)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ := os.Readlink(path)
		return "leads to " + target
	}
	if !info.Mode().IsRegular() {
		return info.Mode().String()
	}
	if info.Size() > 1<<16 {
		return fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
	}
	text, _ := os.ReadFile(path)
	return fmt.Sprintf("%v %q", info.Mode(), text)
}

func zombie(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return len(text) == 0
}

// escapeRole is the part of an attempt that takes system calls.
func escapeRole(args []string) {
	target := func() int {
		var pid int
		_, _ = fmt.Sscan(args[1], &pid)
		return pid
	}
	switch args[0] {
	case "calls":
		for name, call := range calls {
			attackCall(name, call)
		}
	case "trace":
		escaped("ptrace", unix.PtraceAttach(target()))
		escaped("ptrace", unix.PtraceSeize(target()))
	case "peek":
		local := []unix.Iovec{{Base: new(byte), Len: 1}}
		_, err := unix.ProcessVMReadv(target(), local, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
		if err == unix.EFAULT {
			err = nil // so we were let in, and only the address was wrong
		}
		escaped("process_vm_readv", err)
	case "steal":
		pidfd, err := unix.PidfdOpen(target(), 0)
		if err == nil {
			for fd := range 10 {
				_, err := unix.PidfdGetfd(pidfd, fd, 0)
				escaped("pidfd_getfd", err)
			}
		}
	case "pair":
		attackPair(args[1])
	case "flood":
		attackFlood(args[1])
	case "type":
		for fd := range 3 {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(new(byte))))
			escaped("TIOCSTI", errnoError(errno))
		}
	case "share":
		_, err := unix.SysvShmGet(target(), 4096, 0)
		escaped("shmget", err)
	case "via":
		attackTunnel(os.Getenv("HTTPS_PROXY"), args[1])
	case "chroot":
		escaped("chroot", unix.Chroot("."))
		escaped("fchdir", unix.Chdir("/../../../../../../var/lib"))
	case "limit":
		escaped("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: maxOpenFiles + 1, Max: maxOpenFiles + 1}))
	case "setuid":
		attackSetuid()
	case "memfd":
		attackMemfd()
	}
}

func escaped(what string, err error) {
	if err == nil {
		fmt.Println("ESCAPED:", what)
		return
	}
	fmt.Println(what, err)
}

func errnoError(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func attackCall(name string, call []uintptr) {
	call = append(call, make([]uintptr, 7)...)
	result, _, errno := syscall.RawSyscall6(call[0], call[1], call[2], call[3], call[4], call[5], call[6])
	if errno != unix.EPERM && errno != unix.ENOSYS && errno != unix.EAFNOSUPPORT {
		fmt.Println("ESCAPED: the kernel looks at the arguments of", name+":", result, errno)
	}
	fmt.Println("tried", name)
}

// attackSetuid makes files that run with their owner's rights, by all the ways that there are to set a mode.
func attackSetuid() {
	const mode = 0o6755
	for i, open := range []func(path string) (int, error){
		func(path string) (int, error) { return unix.Open(path, unix.O_CREAT|unix.O_WRONLY, mode) },
		func(path string) (int, error) {
			return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: mode})
		},
		func(path string) (int, error) { return -1, unix.Mknod(path, unix.S_IFREG|mode, 0) },
		func(path string) (int, error) { return -1, unix.Mknodat(unix.AT_FDCWD, path, unix.S_IFREG|mode, 0) },
		func(path string) (int, error) {
			fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, 0o755)
			_ = unix.Fchmod(fd, mode)
			_ = unix.Chmod(path, mode)
			_ = unix.Fchmodat(unix.AT_FDCWD, path, mode, 0)
			_ = unix.Fchmodat(unix.AT_FDCWD, path, mode, unix.AT_SYMLINK_NOFOLLOW)
			return fd, err
		},
		func(path string) (int, error) {
			fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, mode)
			if err == nil {
				err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
			}
			return fd, err
		},
	} {
		path := fmt.Sprintf("setuid-%d", i)
		fd, err := open(path)
		fmt.Println(path, fd, err)
	}
}

// attackMemfd runs a program that no file system holds, with the bit that would give it its owner's rights.
func attackMemfd() {
	fd, err := unix.MemfdCreate("evil", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	memory, program := os.NewFile(uintptr(fd), "evil"), bytes.NewReader(nil)
	if text, err := os.ReadFile("/bin/sh"); err == nil {
		program = bytes.NewReader(text)
	}
	_, _ = io.Copy(memory, program)
	_ = unix.Fchmod(fd, 0o6755)
	output, err := exec.Command(fmt.Sprintf("/proc/self/fd/%d", fd), "-c",
		"mount -t tmpfs none /tmp && echo ESCAPED; grep CapEff /proc/self/status | grep -v 0000000000000000 && echo ESCAPED").CombinedOutput()
	fmt.Println(string(output), err)
}

// attackPair sends to a local socket by one that was made without it.
func attackPair(path string) {
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET, unix.SOCK_STREAM} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			fmt.Println("socketpair", kind, err)
			continue
		}
		fmt.Println("sendto", kind, unix.Sendto(pair[0], []byte("bad"), 0, &unix.SockaddrUnix{Name: path}))
		fmt.Println("connect", kind, unix.Connect(pair[0], &unix.SockaddrUnix{Name: path}))
		_, err = unix.Write(pair[0], []byte("bad"))
		fmt.Println("write", kind, err)
	}
}

// attackFlood sends much to a relay, and opens more connections than it takes, without reading.
func attackFlood(address string) {
	for i := range 200 {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			fmt.Println(err)
			return
		}
		if i == 0 {
			_ = connection.SetDeadline(time.Now().Add(time.Second))
			_, _ = connection.Write(make([]byte, 4<<20))
		}
		defer connection.Close()
	}
}
