package tools

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// A model does not always read the real content of a file: secrets are masked, and bytes that are no text become the replacement
// character. A model that writes back the text that it has read would destroy both without an error.

// unmasks refuses a text that has the mark of a secret in more places than the current content of path.
func unmasks(path, before, after string) error {
	if strings.Count(after, domain.Masked) <= strings.Count(before, domain.Masked) {
		return nil
	}
	return domain.Errorf(domain.CodeToolFailed, "This would write %s into %s. The mark stands where a secret was hidden from you; "+
		"the file holds the secret itself, and would lose it. Change other lines by edit or patch, or use a command.", domain.Masked, visible(path))
}

// aboutMask explains why lines with the mark are not found.
func aboutMask(lines ...string) string {
	if !strings.Contains(strings.Join(lines, "\n"), domain.Masked) {
		return ""
	}
	return " Where you were shown " + domain.Masked + ", the file holds a secret: leave that line out."
}

// knowing refuses to replace a file by the text that read has shown of it.
func (w writeArguments) knowing(ctx context.Context, host domain.Host) error {
	if !strings.Contains(w.content, domain.Masked) && !strings.ContainsRune(w.content, utf8.RuneError) {
		return nil
	}
	before, err := readBytes(ctx, host, w.path, maxEditBytes)
	if err != nil && !errors.Is(err, errTooLong) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.ContainsRune(w.content, utf8.RuneError) && !utf8.Valid(before) {
		return notUTF8(w.path)
	}
	return unmasks(w.path, string(before), w.content)
}

func notUTF8(path string) error {
	return domain.Errorf(domain.CodeToolFailed, "%s is not UTF-8 text: %c stands for bytes that it holds and you were not shown. "+
		"Change it with a command, such as iconv or sed, or write all of it anew, without that character.", visible(path), utf8.RuneError)
}
