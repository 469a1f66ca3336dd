package domain_test

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

// The bytes of a result's file say what it is. What a browser would not play as audio, or may show as something else, is not kept.
func TestTheMediaTypeOfAResult(t *testing.T) {
	ogg := "OggS\x00" + strings.Repeat("\x00", 21) + "\x01\x1e"
	for content, want := range map[string]string{
		"RIFF\x24\x00\x00\x00WAVEfmt ": domain.MediaWAV, "ID3\x04\x00": domain.MediaMP3, "\xff\xfb\x90\x64": domain.MediaMP3, "\xff\xf3\x40\xc0": domain.MediaMP3,
		ogg + "\x01vorbis": domain.MediaOgg, ogg + "OpusHead": domain.MediaOgg, "fLaC\x00": domain.MediaFLAC, "\x00\x00\x00\x20ftypM4A \x00": domain.MediaMP4,
		"\x89PNG\r\n\x1a\n": domain.MediaPNG, "RIFF0000WEBPVP8 ": domain.MediaWebP, "\xff\xd8\xff\xe0": domain.MediaJPEG,

		"": "", "RIFF\x24\x00\x00\x00AVI ": "", "RIFF": "", "\xff\xfe<\x00s\x00": "", "\xff\xfb\xf0\x64": "", "\xff\xfb": "", ogg + "\x80theora": "", ogg: "", "OggS\x00": "",
		"\x00\x00\x00\x20ftypisom\x00": "", "<svg/>": "", "<html>": "", "text": "", "%PDF-1.7": "", "#!/bin/sh": "",
	} {
		got, err := domain.ResultMediaTypeOf([]byte(content))
		if got != want || (want == "") != (domain.CodeOf(err) == domain.CodeUnsupportedMedia) || domain.IsAudio(got) != strings.HasPrefix(want, "audio/") {
			t.Errorf("%.40q: %q, %v, want %q", content, got, err, want)
		}
	}
	if name := domain.AudioName("audio-1", domain.MediaMP4); name != "audio-1.m4a" {
		t.Error(name)
	}
}
