package sandbox

import (
	"regexp"
	"strings"
)

// A git config can name programs in dozens of its settings, and new versions bring new ones. So it is read by a list of
// what is known to be harmless, and in the simplest of the notations that git itself writes.

const maxConfig = 1 << 20

var (
	configSection = regexp.MustCompile(`^\[([A-Za-z]+)(?: "[A-Za-z0-9._/+-]+")?\]$`)
	configSetting = regexp.MustCompile(`^\s+([A-Za-z]+) = ([A-Za-z0-9 ._/@:+~*=,-]*)$`)
)

// harmlessSettings are the settings that git init and git clone write, and the author.
var harmlessSettings = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.logallrefupdates": true,
	"core.ignorecase": true, "core.symlinks": true, "user.name": true, "user.email": true,
	"remote.url": true, "remote.fetch": true, "branch.remote": true, "branch.merge": true,
}

// plainConfig returns the harmless lines of a config: all of it, where git init or git clone has written it.
func plainConfig(text string) string {
	var kept strings.Builder
	section := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		if header := configSection.FindStringSubmatch(bare); header != nil {
			section = strings.ToLower(header[1])
			kept.WriteString(line)
		} else if isHarmless(section, bare) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func isHarmless(section, line string) bool {
	setting := configSetting.FindStringSubmatch(line)
	if setting == nil {
		return false
	}
	name, value := section+"."+strings.ToLower(setting[1]), setting[2]
	return harmlessSettings[name] && !strings.Contains(value, "::") && !strings.HasPrefix(value, "-") // ext::sh -c …
}
