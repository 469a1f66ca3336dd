package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// image is the name of a file in or below this folder, or of one elsewhere that is told from a device by its folder.
var image = regexp.MustCompile(`^[A-Za-z0-9_.+:@%=,/-]*[./][A-Za-z0-9_.+:@%=,/-]+$`)

// formatting makes a file system. In a file, which is an image of a disk, it takes nothing away but that file.
func formatting(args []string) string {
	images := 0
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		inDevices := strings.HasPrefix(path.Clean(arg), "/dev")
		if inDevices || strings.Contains(arg, "..") || strings.ContainsAny(arg, "$`*?[{(~") {
			return "It formats " + quoted(arg) + "."
		}
		if image.MatchString(arg) {
			images++
		}
	}
	if images == 0 {
		return "It formats a disk."
	}
	return ""
}

// wiping: without an option that says which signatures go, wipefs lists them.
func wiping(args []string) string {
	if arg, found := (harm{letters: "ao", long: []string{"all", "offset"}}).in(wordsOf(args)); found {
		return "It takes away what a disk holds, by " + arg + "."
	}
	return ""
}

// listing is a catastrophe unless there are options, and all of them are among these, which only list partitions.
func listing(harmless ...string) func([]string) string {
	return func(args []string) string {
		given := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !strings.HasPrefix(a, "-") })
		if len(given) == 0 || slices.ContainsFunc(given, func(a string) bool { return !slices.Contains(harmless, a) }) {
			return "It changes partitions."
		}
		return ""
	}
}

// partitioning: parted shows what it is told to print, and changes what it is told otherwise, at once.
func partitioning(args []string) string {
	shows := slices.ContainsFunc(args, oneOf("-l", "--list", "print"))
	changes := slices.ContainsFunc(args, oneOf("mklabel", "mktable", "mkpart", "mkpartfs", "rm", "resizepart", "rescue", "name", "set", "disk_set", "toggle", "disk_toggle", "type"))
	if shows && !changes {
		return ""
	}
	return "It changes partitions."
}
