package domain

import "bytes"

// Media types of audio. No prompt takes audio: it comes in the results of tools, for people.
const (
	MediaWAV  = "audio/wav"
	MediaMP3  = "audio/mpeg"
	MediaOgg  = "audio/ogg"
	MediaFLAC = "audio/flac"
	MediaMP4  = "audio/mp4"
)

// audioEndings are those of the names of audio files.
var audioEndings = map[string]string{MediaWAV: ".wav", MediaMP3: ".mp3", MediaOgg: ".ogg", MediaFLAC: ".flac", MediaMP4: ".m4a"}

// IsAudio reports whether a file of the media type is audio.
func IsAudio(mediaType string) bool { return audioEndings[mediaType] != "" }

// ResultMediaTypeOf finds the media type of a file in the result of a tool by its first bytes: a picture or audio. Anything else is [CodeUnsupportedMedia].
func ResultMediaTypeOf(content []byte) (string, error) {
	if audio := audioSignature(content); audio != "" {
		return audio, nil
	}
	if found := signature(content); IsPicture(found) {
		return found, nil
	}
	if isPlainText(content) && isSVG(content) {
		return "", svgRefused()
	}
	return "", Errorf(CodeUnsupportedMedia, "The result of a tool can hold pictures (PNG, JPEG, GIF, WebP) and audio (WAV, MP3, Ogg, FLAC, M4A); this is neither.")
}

// AudioName is the name of an audio file, with the ending that the system of a person knows it by.
func AudioName(name, mediaType string) string { return name + audioEndings[mediaType] }

// audioSignature is the media type that the first bytes tell (https://mimesniff.spec.whatwg.org/#matching-an-audio-or-video-type-pattern); empty: none.
func audioSignature(content []byte) string {
	switch {
	case len(content) >= 12 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WAVE":
		return MediaWAV
	case bytes.HasPrefix(content, []byte("ID3")), isMP3Frame(content):
		return MediaMP3
	case isOggAudio(content):
		return MediaOgg
	case bytes.HasPrefix(content, []byte("fLaC")):
		return MediaFLAC
	case len(content) >= 12 && (string(content[4:12]) == "ftypM4A " || string(content[4:12]) == "ftypM4B "): // other brands may have pictures
		return MediaMP4
	}
	return ""
}

// isMP3Frame reports whether content begins with the header of a frame of MPEG audio, layer III, in which no field has a reserved value.
// https://mimesniff.spec.whatwg.org/#signature-for-mp3-without-id3
func isMP3Frame(content []byte) bool {
	if len(content) < 4 || content[0] != 0xff || content[1]&0xe0 != 0xe0 {
		return false
	}
	version, layer, rate, frequency := content[1]>>3&3, content[1]>>1&3, content[2]>>4, content[2]>>2&3
	return version != 1 && layer == 1 && rate != 0 && rate != 15 && frequency != 3
}

// isOggAudio reports whether the first stream of an Ogg file is audio: Ogg is a container, of video as well. https://www.rfc-editor.org/rfc/rfc3533#section-6
func isOggAudio(content []byte) bool {
	const header = 27 // bytes, of which the last one counts the segments
	if len(content) < header || string(content[:5]) != "OggS\x00" || len(content) < header+int(content[header-1]) {
		return false
	}
	stream := content[header+int(content[header-1]):]
	for _, codec := range []string{"\x01vorbis", "OpusHead", "\x7fFLAC", "Speex   "} {
		if bytes.HasPrefix(stream, []byte(codec)) {
			return true
		}
	}
	return false
}
