package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
)

// noise is a PNG of some 6 MB: noise cannot be packed.
func noise(t *testing.T) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 1420, 1420))
	random := rand.NewChaCha8([32]byte{})
	_, err := random.Read(picture.Pix)
	must(t, err)
	for i := 3; i < len(picture.Pix); i += 4 {
		picture.Pix[i] = 0xff // no picture of a camera is transparent
	}
	var encoded bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	must(t, encoder.Encode(&encoded, picture))
	if size := encoded.Len(); size < 6_000_000 || size > 7_000_000 {
		t.Fatalf("the photo has %d bytes", size)
	}
	return encoded.Bytes()
}

// wires are vendors that keep what they are sent. The first request of each execution gets no answer, as long as its server lives, and the others a refusal.
type wires struct {
	address string
	mu      sync.Mutex
	bodies  map[string][]string // by the path of the dialect
	photos  map[string]int      // of the bodies, those with the photo
}

func newWires(t *testing.T, photo []byte) *wires {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &wires{bodies: map[string][]string{}, photos: map[string]int{}}
	encoded := base64.StdEncoding.EncodeToString(photo)
	w.address = serveAt(t, listener, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // its server was killed
		}
		sent := encoded
		if strings.HasPrefix(r.URL.Path, "/anthropic/") {
			sent = scaled(body)
		}
		if w.take(r.URL.Path, string(body), sent) == 1 {
			<-r.Context().Done()
			return
		}
		out.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(out, `{"error":{"message":"no"}}`)
	})).URL
	return w
}

// scaled is the base64 of the picture in a request to Anthropic's messages, or a text that no body has if it is not one that the vendor takes:
// https://platform.claude.com/docs/en/build-with-claude/vision
func scaled(body []byte) string {
	picture := gjson.GetBytes(body, "messages.0.content.1.source")
	data := picture.Get("data").Str
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(data) > 5<<20 || picture.Get("media_type").Str != "image/jpeg" {
		return "\x00"
	}
	if shown, err := jpeg.Decode(bytes.NewReader(content)); err != nil || shown.Bounds().Size() != image.Pt(1420, 1420) {
		return "\x00"
	}
	return data
}

// take counts the requests of a dialect.
func (w *wires) take(path, body, photo string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(body, photo) {
		w.photos[path]++
	}
	w.bodies[path] = append(w.bodies[path], strings.ReplaceAll(body, photo, "PHOTO"))
	return len(w.bodies[path])
}

// have reports whether each of so many dialects was sent the photo so often.
func (w *wires) have(dialects, times int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	enough := 0
	for _, count := range w.photos {
		if count >= times {
			enough++
		}
	}
	return enough == dialects
}

// TestAPhotoReachesEachWire: a photo of 6 MB is sent to each dialect and to an external agent, byte by byte but to Anthropic, which gets a smaller one, before and after a kill -9, and anybody who may read the
// execution gets it. How files are kept on each engine has tests in internal/store; here the processor is the limit.
func TestAPhotoReachesEachWire(t *testing.T) {
	t.Parallel()
	photo := noise(t)
	w := newWires(t, photo)
	s := newServer(t, engine{}, newModel(t, quiet))
	dialects := map[string]string{"openai": "/openai/chat/completions", "openai-responses": "/responses/responses", "anthropic": "/anthropic/v1/messages"}
	models := object{"default": "openai"}
	for name := range dialects {
		base := w.address + "/" + strings.TrimPrefix(name, "openai-")
		models[name] = object{"provider": name, "model": "m", "baseUrl": base, "apiKeyEnv": modelKeyVariable}
	}
	s.models(models)
	s.section("agents", object{"scripted": object{"command": acptest.Build(t), "home": "shared", "args": []string{"-takes", "image"}}})
	s.start()

	file := want[struct{ ID, MediaType string }](s.client, http.StatusCreated, "POST", "/files?name=photo.png", string(photo), headers{"Content-Type": "image/heic"})
	prompt := []object{{"type": "text", "text": "What is this?"}, {"type": "image", "fileId": file.ID}}
	var ids []string
	for name := range dialects {
		ids = append(ids, s.create(object{"source": object{"type": "internal", "model": name}, "prompt": prompt}).ID)
	}
	scripted := append([]object{{"type": "text", "text": acptest.Prompt("blocks")}}, prompt[1])
	theirs := s.create(object{"source": object{"type": "acp", "command": "scripted"}, "keepOpen": true, "prompt": scripted}).ID
	s.eventually("the photo on each wire", func() bool { return w.have(len(dialects), 1) })
	s.eventually("the agent's turn", func() bool { return s.get(theirs).Status == string(domain.StatusIdle) })

	s.kill()
	s.start()
	s.eventually("the photo on each wire, after the restart", func() bool { return w.have(len(dialects), 2) })
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+theirs+"/prompts", object{"prompt": scripted})
	s.eventually("the agent's second turn", func() bool { e := s.get(theirs); return e.Turn == 2 && e.Status == string(domain.StatusIdle) })
	for name, path := range dialects {
		if bodies := w.bodies[path]; len(bodies) != 2 || bodies[0] != bodies[1] || strings.Count(bodies[0], "PHOTO") != 1 || len(bodies[0]) > 100_000 {
			t.Errorf("%s: %d requests: %.2000q", name, len(bodies), bodies)
		}
	}
	sum := sha256.Sum256(photo)
	shown := fmt.Sprintf(`"mimeType":"image/png","bytes":%d,"sha256":"%s"`, len(photo), hex.EncodeToString(sum[:]))
	if said := text(t, s.page(theirs)); strings.Count(said, shown) != 2 {
		t.Errorf("the agent got %.3000s", said)
	}
	for _, id := range append(ids, theirs) {
		response, content := s.do("GET", "/executions/"+id+"/files/"+file.ID, nil)
		if !bytes.Equal(content, photo) || response.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %s, %d bytes", response.Status, response.Header.Get("Content-Type"), len(content))
		}
	}
	for _, id := range append(ids, theirs) {
		s.cancelled(id, nil)
		s.sound(id)
	}
}
