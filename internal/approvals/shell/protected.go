package shell

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Protected names: the files that a machine, or the work on it, needs.

// homeless are the ways to write the home folder, and variables that may be empty: rm -rf "$DIR"/* is rm -rf /*. What a
// substitution puts there is not known either: rm -rf "$(pwd)".
var homeless = regexp.MustCompile(`^(~[a-z0-9_-]*|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?)?(/+\.{0,2})*(/\.?\*|/)?$`)

// folders are the parts of a system.
var folders = set("/ /etc /usr /bin /sbin /lib /lib32 /lib64 /boot /var /dev /proc /sys /root /home /opt /srv /mnt /media /run /data /Users /System /Library")

// vitals are those of them that programs run from: no pattern for names makes it harmless to remove all that match below.
var vitals = set("/ /etc /usr /bin /sbin /lib /lib32 /lib64 /boot /dev /proc /sys /run /System /Library")

// leftovers are folders of what programs leave behind, and what is old in them goes.
var leftovers = set("/var/tmp /var/log /var/cache")

// vital reports whether a folder is, or may be, one of the vitals, or a part of /usr.
func vital(arg string) bool {
	return slices.ContainsFunc(spellings(arg), func(spelling string) bool {
		clean := path.Clean(spelling)
		return vitals[clean] || path.Dir(clean) == "/usr" ||
			strings.HasPrefix(clean, "/") && strings.ContainsAny(clean, "*?[") && matches(clean, vitalRoots)
	})
}

// roots are the folders, for patterns.
var roots, vitalRoots = slices.Sorted(maps.Keys(folders)), slices.Sorted(maps.Keys(vitals))

// parents are folders of which every folder is precious.
var parents = []string{"/home", "/var", "/usr", "/Users"}

// precious reports whether a folder is, or may be, the root, a home, or a folder of the system, or all that is in one.
func precious(arg string) bool {
	if arg == "" || strings.HasPrefix(arg, "-") {
		return false
	}
	if homeless.MatchString(unsubstituted(arg)) {
		return true
	}
	return slices.ContainsFunc(spellings(arg), preciousFolder)
}

// unsubstituted puts a variable in the place of a substitution at the beginning of a word. A folder that mktemp makes is
// nobody's.
func unsubstituted(arg string) string {
	inner, end := "", -1
	switch {
	case strings.HasPrefix(arg, "$("):
		end = strings.LastIndexByte(arg, ')')
		inner = strings.TrimSpace(arg[2:max(2, end)])
	case strings.HasPrefix(arg, "`"):
		end = strings.LastIndexByte(arg, '`')
		inner = strings.TrimSpace(arg[1:max(1, end)])
	}
	if end < 1 || strings.HasPrefix(inner, "mktemp") {
		return arg
	}
	return "$substitution" + arg[end+1:]
}

func preciousFolder(arg string) bool {
	if homeless.MatchString(arg) {
		return true
	}
	if !strings.HasPrefix(arg, "/") {
		return false
	}
	clean := path.Clean(arg)
	if clean == "/var/tmp/*" {
		return false // like what is in /tmp, nobody's
	}
	if last := path.Base(clean); last == "*" || last == ".*" || last == "{*,.*}" {
		clean = path.Dir(clean)
	}
	if strings.ContainsAny(clean, "*?[") && (matches(clean, roots) || matches(path.Dir(clean), parents)) {
		return true
	}
	return folders[clean] || slices.Contains(parents, path.Dir(clean))
}

// here reports whether an argument is the folder that the command runs in, one above it, or all that is in it.
func here(arg string) bool {
	return slices.ContainsFunc(spellings(arg), hereFolder)
}

func hereFolder(arg string) bool {
	clean := strings.TrimRight(path.Clean(strings.TrimSuffix(strings.TrimSuffix(arg, "*"), "/.")), "/")
	return arg != "" && strings.Trim(clean, "./") == "" && (strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "*"))
}

var (
	devices   = regexp.MustCompile(`^/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk|mapper/|dm-\d|md\d|loop\d|ram\d|mem$|kmem$|port$)`)
	systemful = regexp.MustCompile(`^/(etc/(passwd|shadow|group|gshadow|sudoers|fstab|crypttab|hosts|resolv\.conf|nsswitch\.conf|ld\.so|pam\.d|ssh|ssl|systemd|profile|crontab|cron)|boot/|bin/|sbin/|lib(32|64)?/|usr/(bin|sbin|lib(32|64|exec)?)/|proc/sysrq|proc/sys/|sys/|root/\.ssh)`)
)

// usualModes are the modes that files of the system have anyway; the first that is about a file decides.
var usualModes = []struct{ file, mode *regexp.Regexp }{
	{regexp.MustCompile(`^/etc/(g?shadow|sudoers|crypttab|ssh/ssh_host|ssl/private)|^/root/`), regexp.MustCompile(`^0?(400|440|600|640)$`)},
	{regexp.MustCompile(`^/etc/`), regexp.MustCompile(`^(0?644|root(:root)?)$`)},
	{regexp.MustCompile(`^/(bin|sbin|lib|usr)`), regexp.MustCompile(`^(0?755|root(:root)?)$`)},
}

// usual reports whether a file of the system has this mode, or owner, anyway: to set it repairs the file.
func usual(mode, file string) bool {
	for _, u := range usualModes {
		if u.file.MatchString(path.Clean(file)) {
			return u.mode.MatchString(mode)
		}
	}
	return false
}

// samples are one of each, for patterns.
var (
	sampleDevices = strings.Fields("/dev/sda /dev/sda1 /dev/sdb /dev/hda /dev/vda /dev/xvda /dev/nvme0n1 /dev/mmcblk0 /dev/disk/by-id/x /dev/mapper/x /dev/dm-0 /dev/md0 /dev/mem")
	sampleSystem  = strings.Fields(`/etc/passwd /etc/shadow /etc/group /etc/sudoers /etc/fstab /etc/crypttab /etc/hosts /etc/resolv.conf /etc/nsswitch.conf
		/etc/pam.d/sshd /etc/ssh/sshd_config /etc/ssl/certs /etc/systemd/system /etc/profile /etc/crontab /boot/vmlinuz /boot/grub/grub.cfg /bin/sh /sbin/init
		/lib/ld.so /lib64/ld.so /usr/bin/env /usr/sbin/sshd /usr/lib/libc.so`)
)

// device reports whether a file is, or may be, a disk, or the memory.
func device(name string) bool { return protected(name, devices, sampleDevices) }

// system reports whether a machine does not start, or does not let anybody in, without this file, or without one that a
// pattern may stand for.
func system(name string) bool { return protected(name, systemful, sampleSystem) }

func protected(name string, these *regexp.Regexp, samples []string) bool {
	return slices.ContainsFunc(spellings(name), func(spelling string) bool {
		clean := path.Clean(spelling)
		return these.MatchString(clean) || strings.HasPrefix(clean, "/") && strings.ContainsAny(clean, "*?[") && matches(clean, samples)
	})
}

// Ruins returns why writing to a file is a catastrophe, or "".
func Ruins(target string) string {
	switch {
	case device(target):
		return "It writes to the device " + quoted(target) + "."
	case system(target):
		return "It overwrites a part of the system: " + quoted(target) + "."
	}
	return ""
}
