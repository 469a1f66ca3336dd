package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"runtime"
	"testing"

	"signoff/internal/domain"
)

var testBounds = PictureBounds{Bytes: 200_000, Edge: 900, Many: 2, EdgeOfMany: 300, Scaled: 400}

func noisy(width, height int) *image.NRGBA {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	_, _ = rand.NewChaCha8([32]byte{}).Read(picture.Pix)
	for i := 3; i < len(picture.Pix); i += 4 {
		picture.Pix[i] = 0xff
	}
	return picture
}

func asPNG(t *testing.T, picture image.Image) []byte {
	t.Helper()
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

func asJPEG(t *testing.T, picture image.Image) []byte {
	t.Helper()
	var encoded bytes.Buffer
	if err := jpeg.Encode(&encoded, picture, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

func fileOf(content []byte, media string) domain.File {
	sum := sha256.Sum256(content)
	return domain.File{MediaType: media, SHA256: hex.EncodeToString(sum[:])}
}

func fit(t *testing.T, s *Scaler, bounds PictureBounds, pictures int, media string, content []byte) ([]byte, string) {
	t.Helper()
	sent, as, err := s.Fit(t.Context(), bounds, pictures, fileOf(content, media), content)
	if err != nil {
		t.Fatal(err)
	}
	return sent, as
}

// TestLargePicturesAreScaled: the result is a JPEG within the bounds, and always the same one, for the vendor's cache.
func TestLargePicturesAreScaled(t *testing.T) {
	large := noisy(700, 500)
	for name, c := range map[string]struct {
		bounds   PictureBounds
		pictures int
		media    string
		content  []byte
		want     image.Point
	}{
		"a PNG":                {testBounds, 1, domain.MediaPNG, asPNG(t, large), image.Pt(400, 285)},
		"a JPEG":               {testBounds, 1, domain.MediaJPEG, asJPEG(t, large), image.Pt(400, 285)},
		"one of many":          {testBounds, 3, domain.MediaPNG, asPNG(t, noisy(310, 10)), image.Pt(300, 9)},
		"a long one":           {testBounds, 1, domain.MediaPNG, asPNG(t, image.NewGray(image.Rect(0, 0, 4000, 3))), image.Pt(400, 1)},
		"noise within an edge": {PictureBounds{Bytes: 60_000, Edge: 900, Many: 2, Scaled: 800}, 1, domain.MediaPNG, asPNG(t, large), image.Point{}},
	} {
		sent, media := fit(t, NewScaler(), c.bounds, c.pictures, c.media, c.content)
		again, _ := fit(t, NewScaler(), c.bounds, c.pictures, c.media, c.content)
		picture, err := jpeg.Decode(bytes.NewReader(sent))
		if err != nil || media != domain.MediaJPEG || int64(len(sent)) > c.bounds.Bytes || !bytes.Equal(sent, again) {
			t.Errorf("%s: %v, %s, %d bytes", name, err, media, len(sent))
			continue
		}
		if size := picture.Bounds().Size(); c.want != (image.Point{}) && size != c.want {
			t.Errorf("%s: %v", name, size)
		}
	}
}

// TestTransparentIsWhite: dark writing on a transparent ground stays readable.
func TestTransparentIsWhite(t *testing.T) {
	sent, _ := fit(t, NewScaler(), testBounds, 1, domain.MediaPNG, asPNG(t, image.NewNRGBA(image.Rect(0, 0, 2000, 100))))
	picture, err := jpeg.Decode(bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := picture.At(200, 10).RGBA(); min(r, g, b) < 0xfd00 {
		t.Errorf("%x %x %x", r, g, b)
	}
}

// TestExifIsKept: a photo that was taken with the phone on its side is turned as before.
func TestExifIsKept(t *testing.T) {
	plain := asJPEG(t, noisy(700, 500))
	exif := append([]byte{0xFF, 0xE1, 0, 34}, "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"...)
	other := []byte("\xff\xe1\x00\x06http")
	photo := append(append(append(plain[:2:2], other...), exif...), plain[2:]...)
	sent, _ := fit(t, NewScaler(), testBounds, 1, domain.MediaJPEG, photo)
	if _, err := jpeg.Decode(bytes.NewReader(sent)); err != nil || !bytes.HasPrefix(sent[2:], exif) || bytes.Contains(sent, other) {
		t.Errorf("%v: %.100q", err, sent)
	}
}

// claiming is a small PNG that claims so many pixels an edge.
func claiming(t *testing.T, edge uint32) []byte {
	content := asPNG(t, noisy(1, 1))
	binary.BigEndian.PutUint32(content[16:], edge)
	binary.BigEndian.PutUint32(content[20:], edge)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(content[12:29]))
	return content
}

// TestOtherPicturesStay: byte by byte, and those that cannot be scaled need no memory.
func TestOtherPicturesStay(t *testing.T) {
	var moving bytes.Buffer
	if err := gif.Encode(&moving, noisy(1000, 10), nil); err != nil {
		t.Fatal(err)
	}
	broken := asPNG(t, noisy(700, 500))[:300_000]
	progressive := asJPEG(t, noisy(20, 10))
	at := bytes.Index(progressive, []byte{0xFF, 0xC0})
	progressive[at+1] = 0xC2
	binary.BigEndian.PutUint16(progressive[at+5:], 5000)
	binary.BigEndian.PutUint16(progressive[at+7:], 5000)
	for name, c := range map[string]struct {
		media   string
		content []byte
	}{
		"within the bounds": {domain.MediaPNG, asPNG(t, noisy(100, 100))},
		"a GIF":             {domain.MediaGIF, moving.Bytes()},
		"a bomb":            {domain.MediaPNG, claiming(t, 30_000)},
		"a progressive one": {domain.MediaJPEG, progressive},
		"broken":            {domain.MediaPNG, broken},
		"no picture":        {domain.MediaPNG, make([]byte, 300_000)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sent, media := fit(t, NewScaler(), testBounds, 1, c.media, c.content)
		runtime.ReadMemStats(&after)
		if !bytes.Equal(sent, c.content) || media != c.media || after.TotalAlloc-before.TotalAlloc > 10_000_000 {
			t.Errorf("%s: %d bytes as %s, with %d bytes of memory", name, len(sent), media, after.TotalAlloc-before.TotalAlloc)
		}
	}
	if s := NewScaler(); s.scale(asPNG(t, noisy(700, 500)), 100, 10) != nil {
		t.Error("a picture has ten bytes")
	}
}

// TestADecoderThatPanics: the picture stays, and the next one has its turn.
func TestADecoderThatPanics(t *testing.T) {
	s := NewScaler()
	s.draw = func(image.Image, int) []byte { panic("index out of range") }
	content := asPNG(t, noisy(700, 500))
	for range 2 {
		if sent, _ := fit(t, s, testBounds, 1, domain.MediaPNG, content); !bytes.Equal(sent, content) {
			t.Error("another picture")
		}
	}
}

// TestScaledPicturesAreKept: the next round scales nothing. What is kept is bounded.
func TestScaledPicturesAreKept(t *testing.T) {
	s, drawn := NewScaler(), 0
	s.draw = func(image.Image, int) []byte { drawn++; return make([]byte, 5_000_000) }
	bounds := testBounds
	bounds.Bytes = 6_000_000
	for round := range 2 {
		for width := range 3 {
			fit(t, s, bounds, 1, domain.MediaPNG, asPNG(t, noisy(1000+width, 1)))
		}
		if drawn != 3 {
			t.Errorf("round %d: %d", round, drawn)
		}
	}
	fit(t, s, bounds, 3, domain.MediaPNG, asPNG(t, noisy(1000, 1))) // to another edge, which is another picture
	if drawn != 4 || len(s.kept) != 3 {
		t.Errorf("%d drawn, %d kept", drawn, len(s.kept))
	}
}

// TestAWaitForTheScalerEnds with its request.
func TestAWaitForTheScalerEnds(t *testing.T) {
	s := NewScaler()
	s.slot <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	content := asPNG(t, noisy(1000, 1))
	if _, _, err := s.Fit(ctx, testBounds, 1, fileOf(content, domain.MediaPNG), content); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
