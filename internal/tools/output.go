package tools

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"signoff/internal/domain"
)

const (
	maxLiveBytes   = 1 << 20
	livePieceBytes = 8 << 10
	livePieceEvery = 50 * time.Millisecond

	// What people get of an output at its end. The two together leave room in an item of the conversation for a notice and a last line.
	shownHead = maxLiveBytes - 32<<10
	shownTail = 16 << 10
)

// output takes the text that a call prints and serves two readers. People follow it live, in pieces, up to a bound, and get all of it at
// the end; of a text beyond the bound, they get the beginning and the end. The model gets less, head and tail, and may read in the log
// the text that was shown live. Bytes that are not UTF-8 become U+FFFD before anything is counted, so offsets count what is really sent.
//
// Pieces wait for 8 KiB or 50 ms, whichever is first: a program that prints byte by byte must not cost an event each.
type output struct {
	emit   func(offset int, text string) error
	callID string

	mu      sync.Mutex // held over emit: pieces leave in order, and a full log slows the command down
	partial []byte     // the begun rune at the end of the last write
	live    []byte     // not yet emitted
	sent    int        // bytes emitted
	silent  bool       // the live bound is reached, or the session has ended
	timer   *time.Timer
	closed  bool
	shown   headTail // for people
	kept    headTail // for the model
}

// printed is the text that a call has printed, for each of its readers.
type printed struct {
	shown   string // to people
	cut     bool   // shown lacks something
	model   string
	reduced bool // model is not shown
}

// newOutput returns the output of a call. The model gets up to head bytes from its beginning and tail from its end.
func newOutput(ctx context.Context, host domain.Host, callID string, head, tail int) *output {
	emit := func(offset int, text string) error {
		return host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: callID, Offset: offset, Output: text})
	}
	return &output{
		emit: emit, callID: callID,
		shown: headTail{headBytes: shownHead, tailBytes: shownTail}, kept: headTail{headBytes: head, tailBytes: tail},
	}
}

// Write implements io.Writer. It never fails: a command must not fail because of its output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.takeLocked(o.wholeRunesLocked(p))
	}
	return len(p), nil
}

// close emits the pending text, and returns the output. Nothing is emitted after it has returned.
func (o *output) close() (all printed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.takeLocked(strings.ToValidUTF8(string(o.partial), "\uFFFD"))
	o.flushLocked()
	all.shown, all.cut = o.shown.text(o.noticeLocked)
	all.model, all.reduced = o.kept.text(o.noteLocked)
	return all
}

// result is the result of a call, which of makes of a text: for people, and for the model where it gets another text.
func (p printed) result(of func(text string) Result) Result {
	result := of(p.shown)
	result.Truncated = p.cut
	if p.reduced {
		result.ModelOutput = of(p.model).Output
	}
	return result
}

// LongText is the result of a call that has found this text. Of one with more than most bytes, the model gets the beginning and the end, and may read
// the rest in the log.
func LongText(ctx context.Context, host domain.Host, callID, text string, most int) Result {
	if len(text) <= most {
		return Result{Output: text}
	}
	output := newOutput(ctx, host, callID, most/2, most/2)
	_, _ = output.Write([]byte(text)) // into the log
	return output.close().result(func(text string) Result { return Result{Output: text} })
}

// noticeLocked tells people that something is missing. Nothing can be done about that, so it does not tell how.
func (o *output) noticeLocked(left int) string {
	return fmt.Sprintf("[… %d bytes are missing here: the output had %d bytes, and only its beginning and its end are kept.]", left, o.shown.total())
}

// LeftOut is a part of the note in the place of the omitted part of an output.
const LeftOut = " bytes left out here. To see them, use the tool read with the path "

// OutputPath is the path by which the tool read finds what a call has printed or found.
func OutputPath(callID string) string { return outputPrefix + callID }

// noteLocked tells the model how to read the omitted part: the log has all text that was shown live.
func (o *output) noteLocked(left int) string {
	note := fmt.Sprintf("[… %d"+LeftOut+"%q and the offset %d.", left, OutputPath(o.callID), 1+bytes.Count(o.kept.head, []byte("\n")))
	if o.sent < o.kept.total() {
		note += fmt.Sprintf(" Only the first %d bytes of all were kept; the rest is lost.", o.sent)
	}
	return note + "]"
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
	o.shown.write(text)
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
		o.emitLocked()
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
		o.emitLocked()
	}
}

// emitLocked sends the next piece of the pending text.
func (o *output) emitLocked() {
	beginning := string(o.live[:min(len(o.live), livePieceBytes+utf8.UTFMax)])
	piece := beginning[:runeCut(beginning, livePieceBytes)]
	o.live = o.live[len(piece):]
	if err := o.emit(o.sent, piece); err != nil { // the session is over; the command's end is near
		o.silent, o.live = true, nil
		return
	}
	o.sent += len(piece)
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
	headBytes, tailBytes int // how much is kept
	head, tail           []byte
	left                 int // bytes between them
}

func (k *headTail) total() int { return len(k.head) + k.left + len(k.tail) }

func (k *headTail) write(text string) {
	if room := k.headBytes - len(k.head); room > 0 && k.left == 0 && len(k.tail) == 0 {
		cut := runeCut(text, room)
		k.head, text = append(k.head, text[:cut]...), text[cut:]
	}
	k.tail = append(k.tail, text...)
	if len(k.tail) > 2*k.tailBytes { // trim seldom, so that many small writes stay cheap
		k.trim()
	}
}

func (k *headTail) trim() {
	drop := len(k.tail) - k.tailBytes
	for drop > 0 && drop < len(k.tail) && !utf8.RuneStart(k.tail[drop]) {
		drop++
	}
	if drop > 0 {
		k.tail, k.left = append([]byte(nil), k.tail[drop:]...), k.left+drop
	}
}

// text puts note, which is given the number of bytes that are left out, between head and tail.
func (k *headTail) text(note func(left int) string) (text string, truncated bool) {
	k.trim()
	if k.left == 0 {
		return string(k.head) + string(k.tail), false
	}
	return joinLines(string(k.head), note(k.left)) + "\n" + string(k.tail), true
}
