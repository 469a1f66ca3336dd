package main

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	stampDigits = 19 // of Unix nanoseconds, from 2001 to 2286
	stampBytes  = 1 + stampDigits
	leastBytes  = stampBytes + 1 // a chunk's text is at least its stamp, and a blank: see [newChatAnswer]
	mostBytes   = 16 << 10       // what reads the model holds a line in 32 KB
	mostChunks  = 10_000_000
	mostRate    = 1_000_000
)

// script is what the model is asked for. It travels as the words of the prompt, through whatever server is measured, and is the
// whole state that model and client share:
//
//	bench chunks=400 rate=50 bytes=21 alternate call write=notes.txt
type script struct {
	chunks    int  // of text; at least one
	rate      int  // chunks per second; 0 is as fast as it goes
	bytes     int  // of each chunk's text; at least the stamp
	alternate bool // every second chunk is reasoning, so that no server can merge two chunks into one event
	call      bool // first asks for a command, and speaks when it has the result

	write string // first asks for this file to be written, and speaks then
	gate  string // a named pipe, for external agents: behind the first chunk they wait until its other end is closed
}

// withDefaults lets a script{chunks: 8} say no more than what it is about.
func (s script) withDefaults() script {
	s.chunks = max(s.chunks, 1)
	s.bytes = max(s.bytes, leastBytes)
	return s
}

// String is the prompt. What is not said in it is as parseScript fills it in.
func (s script) String() string {
	full := s.withDefaults()
	text := fmt.Sprintf("bench chunks=%d rate=%d bytes=%d", full.chunks, full.rate, full.bytes)
	if s.alternate {
		text += " alternate"
	}
	if s.call {
		text += " call"
	}
	if s.write != "" {
		text += " write=" + s.write
	}
	if s.gate != "" {
		text += " gate=" + s.gate
	}
	return text
}

// parseScript refuses every word that it does not know: a figure measured under a misspelt script would be believed.
func parseScript(text string) (script, error) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != "bench" {
		return script{}, fmt.Errorf("a script begins with the word bench; this is %q", start(text))
	}
	var s script
	for _, word := range words[1:] {
		if err := s.take(word); err != nil {
			return script{}, err
		}
	}
	return s.withDefaults(), nil
}

func (s *script) take(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case name == "chunks":
		s.chunks, err = number(word, value, 1, mostChunks)
	case name == "rate":
		s.rate, err = number(word, value, 0, mostRate)
	case name == "bytes":
		s.bytes, err = number(word, value, leastBytes, mostBytes)
	case name == "write" && value != "":
		s.write = value
	case name == "gate" && value != "":
		s.gate = value
	case word == "alternate":
		s.alternate = true
	case word == "call":
		s.call = true
	default:
		err = fmt.Errorf("a script has no word %q", start(word))
	}
	return err
}

func number(word, value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", start(word), least, most)
	}
	return n, nil
}

// start is as much of a foreign text as an error shows.
func start(text string) string { return text[:min(len(text), 80)] }
