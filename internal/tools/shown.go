package tools

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// A model does not always read the real content of a file: secrets are masked, bytes that are no text become the replacement character, and
// control characters become signs. A model that writes back the text that it has read would destroy all of them without an error.

// unmasks refuses a text that has the mark of a secret, or the sign of a control character, in more places than the current content of path.
func unmasks(path, before, after string) error {
	if err := unsigns(path, before, after); err != nil {
		return err
	}
	if strings.Count(after, domain.Masked) <= strings.Count(before, domain.Masked) {
		return nil
	}
	return domain.Errorf(domain.CodeToolFailed, "This would write %s into %s. The mark stands where a secret was hidden from you; "+
		"the file holds the secret itself, and would lose it. Change other lines by edit or patch, or use a command.", domain.Masked, visible(path))
}

// unsigns refuses signs in the place of control characters.
func unsigns(path, before, after string) error {
	now, controls := domain.HarmlessSigns(before)
	if then, _ := domain.HarmlessSigns(after); controls == 0 || then <= now {
		return nil
	}
	return domain.Errorf(domain.CodeToolFailed, "%s holds control characters, and you were shown signs such as ␛ in their places. "+
		"This would write the signs. Change other lines by edit or patch, or use a command.", visible(path))
}

// aboutMask explains why lines with the mark, or with the sign of a control character, are not found.
func aboutMask(lines ...string) string {
	text := strings.Join(lines, "\n")
	if signs, _ := domain.HarmlessSigns(text); signs > 0 {
		return " Where you were shown a sign such as ␛, the file may hold a control character: leave that line out."
	}
	if !strings.Contains(text, domain.Masked) {
		return ""
	}
	return " Where you were shown " + domain.Masked + ", the file holds a secret: leave that line out."
}

// knowing refuses to replace a file by the text that read has shown of it.
func (w writeArguments) knowing(ctx context.Context, host domain.Host) error {
	if signs, _ := domain.HarmlessSigns(w.content); signs == 0 && !strings.Contains(w.content, domain.Masked) {
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
