package tools

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// output takes what a command prints and serves two readers: people follow it live, in pieces, up to a bound; the
// model gets head and tail at the end. Bytes that are not UTF-8 become U+FFFD before anything is counted, so offsets
// count what is really sent.
//
// Pieces wait for 8 KiB or 50 ms, whichever is first: a program that prints byte by byte must not cost an event each.
type output struct {
	emit func(offset int, text string) error

	mu      sync.Mutex // held over emit: pieces leave in order, and a full log slows the command down
	partial []byte     // the begun rune at the end of the last write
	live    []byte     // not yet emitted
	sent    int        // bytes emitted
	silent  bool       // the live bound is reached, or nobody listens any more
	timer   *time.Timer
	closed  bool
	kept    headTail
}

func newOutput(emit func(offset int, text string) error) *output {
	return &output{emit: emit}
}

// Write implements io.Writer. It never fails: a command is not to die of what becomes of its output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.takeLocked(o.wholeRunesLocked(p))
	}
	return len(p), nil
}

// close emits what waits, and returns what the model gets. Nothing is emitted after it has returned.
func (o *output) close() (text string, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.takeLocked(strings.ToValidUTF8(string(o.partial), "\uFFFD"))
	o.flushLocked()
	return o.kept.text()
}

// wholeRunesLocked returns p as valid UTF-8, with the rune that the last write began and without the one that this
// write begins.
func (o *output) wholeRunesLocked(p []byte) string {
	data := append(o.partial, p...)
	cut := len(data) - begunRune(data)
	o.partial = append([]byte(nil), data[cut:]...)
	return strings.ToValidUTF8(string(data[:cut]), "\uFFFD")
}

// begunRune returns how many bytes at the end of data begin a rune that more bytes could complete.
func begunRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		tail := data[len(data)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (o *output) takeLocked(text string) {
	o.kept.write(text)
	if o.silent || text == "" {
		return
	}
	if room := maxLiveBytes - o.sent - len(o.live); len(text) > room {
		text = text[:runeCut(text, room)]
		o.live = append(o.live, text...)
		o.flushLocked()
		o.silent = true
		return
	}
	o.live = append(o.live, text...)
	for len(o.live) >= livePieceBytes && !o.silent {
		o.emitLocked(runeCut(string(o.live[:min(len(o.live), livePieceBytes+utf8.UTFMax)]), livePieceBytes))
	}
	if len(o.live) > 0 && o.timer == nil && !o.closed {
		o.timer = time.AfterFunc(livePieceEvery, o.tick)
	}
}

func (o *output) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.flushLocked()
	}
}

func (o *output) flushLocked() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	for len(o.live) > 0 && !o.silent {
		o.emitLocked(runeCut(string(o.live), livePieceBytes))
	}
}

// emitLocked sends the first n waiting bytes.
func (o *output) emitLocked(n int) {
	piece := string(o.live[:n])
	o.live = o.live[n:]
	if err := o.emit(o.sent, piece); err != nil { // the session is over; the command's end is near
		o.silent, o.live = true, nil
		return
	}
	o.sent += n
}

// runeCut returns the largest cut of valid text that is at most limit and does not split a rune.
func runeCut(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}

// headTail keeps the beginning and the end of a text of any length.
type headTail struct {
	head, tail []byte
	left       int // bytes between them
}

func (k *headTail) write(text string) {
	if room := headBytes - len(k.head); room > 0 && k.left == 0 && len(k.tail) == 0 {
		cut := runeCut(text, room)
		k.head, text = append(k.head, text[:cut]...), text[cut:]
	}
	k.tail = append(k.tail, text...)
	if len(k.tail) > 2*tailBytes { // trim seldom, so that many small writes stay cheap
		k.trim()
	}
}

func (k *headTail) trim() {
	drop := len(k.tail) - tailBytes
	for drop > 0 && drop < len(k.tail) && !utf8.RuneStart(k.tail[drop]) {
		drop++
	}
	if drop > 0 {
		k.tail, k.left = append([]byte(nil), k.tail[drop:]...), k.left+drop
	}
}

func (k *headTail) text() (text string, truncated bool) {
	k.trim()
	if k.left == 0 {
		return string(k.head) + string(k.tail), false
	}
	note := fmt.Sprintf("[… %d bytes left out here …]", k.left)
	return joinLines(string(k.head), note) + "\n" + string(k.tail), true
}
