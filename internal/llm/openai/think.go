package openai

import (
	"strings"

	"signoff/internal/llm/provider"
)

// tag is the pair of tags around a thought.
type tag struct{ opens, closes string }

// tags are those of most models, and those of Gemini and Gemma at Google's endpoint, where each piece of a thought but the closing tag also
// has extra_content.google.thought: https://ai.google.dev/gemini-api/docs/openai#thinking
var tags = []tag{{"<think>", "</think>"}, {"<thought>", "</thought>"}}

// thinkSplitter parts thoughts from text where a server leaves the model's own tags in the text, as many local ones
// do. It holds back what may become a tag, at most a tag's length.
//
// A tag counts only where models put it: before everything else, or right behind another thought. A model that
// explains the tag to somebody, further on in its text, must not lose the rest of its answer to a thought.
type thinkSplitter struct {
	sink  provider.Sink
	state thinkState
	open  tag // of the thought that it is in
	held  string
}

type thinkState int

const (
	beforeThought thinkState = iota // nothing visible has come since the beginning or the last thought
	inThought
	inText
)

// announce has a tag count at this place of the text: the vendor says that a thought follows.
func (s *thinkSplitter) announce() {
	if s.state == inText { // which holds nothing back
		s.state = beforeThought
	}
}

func (s *thinkSplitter) write(chunk string) error {
	s.held += chunk
	for {
		again, err := s.step()
		if err != nil || !again {
			return err
		}
	}
}

// step hands on what is certain and tells whether a change of state lets it go on.
func (s *thinkSplitter) step() (again bool, err error) {
	switch s.state {
	case beforeThought:
		return s.stepBefore()
	case inThought:
		return s.stepThought()
	default:
		return false, s.release(len(s.held))
	}
}

func (s *thinkSplitter) stepBefore() (again bool, err error) {
	blank := len(s.held) - len(strings.TrimLeft(s.held, " \t\r\n"))
	if err := s.release(blank); err != nil {
		return false, err
	}
	for _, known := range tags {
		switch {
		case strings.HasPrefix(s.held, known.opens):
			s.held, s.state, s.open = s.held[len(known.opens):], inThought, known
			return true, nil
		case strings.HasPrefix(known.opens, s.held): // the tag may be on its way; also where nothing is held
			return false, nil
		}
	}
	s.state = inText
	return true, nil
}

func (s *thinkSplitter) stepThought() (again bool, err error) {
	if end := strings.Index(s.held, s.open.closes); end >= 0 {
		err := s.release(end)
		s.held, s.state = s.held[len(s.open.closes):], beforeThought
		return true, err
	}
	return false, s.release(len(s.held) - begunTag(s.held, s.open.closes))
}

// begunTag returns how many bytes at the end of text may begin the closing tag.
func begunTag(text, closes string) int {
	for n := min(len(text), len(closes)-1); n > 0; n-- {
		if strings.HasSuffix(text, closes[:n]) {
			return n
		}
	}
	return 0
}

// flush hands on what is held: the answer has come to its end, so it was no tag.
func (s *thinkSplitter) flush() error { return s.release(len(s.held)) }

// release hands on the first n held bytes.
func (s *thinkSplitter) release(n int) error {
	piece := s.held[:n]
	s.held = s.held[n:]
	switch {
	case piece == "":
		return nil
	case s.state == inThought:
		return s.sink.Thought(piece)
	default:
		return s.sink.Text(piece)
	}
}
