package provider

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png" // decodes
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decodes

	"signoff/internal/domain"
)

// PictureBounds are the largest pictures that a vendor takes. A larger one is scaled down for the vendor.
type PictureBounds struct {
	Bytes      int64 // of the file
	Edge       int   // pixels of the longer edge
	Many       int   // in a request with more pictures than that, EdgeOfMany is the bound
	EdgeOfMany int
	Scaled     int // pixels of the longer edge of a picture that was scaled down: more are lost on the vendor's models
}

// edges are the bound of the longer edge in a request with so many pictures, and the longer edge of one that is scaled down.
func (b PictureBounds) edges(pictures int) (most, scaled int) {
	if pictures > b.Many {
		return b.EdgeOfMany, min(b.Scaled, b.EdgeOfMany)
	}
	return b.Edge, b.Scaled
}

const (
	// maxDecoded bounds the memory that a picture has while it is scaled: some 60 megapixels of a usual JPEG or PNG.
	maxDecoded = 240_000_000

	// maxScaled bounds the scaled pictures that are kept for the next requests.
	maxScaled = 16_000_000

	quality = 85 // of a JPEG that is written
)

// Scaler scales pictures down, one at a time, because a picture is large in memory. It keeps the newest results: each round of a conversation sends its pictures again.
type Scaler struct {
	slot chan struct{}
	draw func(image.Image, int) []byte // [drawn]; tests count its calls

	mu   sync.Mutex
	kept []scaled // the oldest first
}

// scaled is a result. Files of the same hash have the same result.
type scaled struct {
	sha256  string
	edge    int
	content []byte
}

// NewScaler returns one that has kept nothing.
func NewScaler() *Scaler { return &Scaler{slot: make(chan struct{}, 1), draw: drawn} }

// Fit returns a picture's bytes and media type for a request with so many pictures. A picture within the bounds stays as it is. So does one that cannot be scaled down:
// the vendor says why it refuses it. A GIF may be animated and is not scaled.
func (s *Scaler) Fit(ctx context.Context, bounds PictureBounds, pictures int, file domain.File, content []byte) ([]byte, string, error) {
	most, edge := bounds.edges(pictures)
	if file.MediaType == domain.MediaGIF || !scalable(content, bounds.Bytes, most) {
		return content, file.MediaType, nil
	}
	if small := s.find(file.SHA256, edge); small != nil {
		return small, domain.MediaJPEG, nil
	}
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
	small := s.find(file.SHA256, edge) // another request has scaled it meanwhile
	if small == nil {
		if small = s.scale(content, edge, bounds.Bytes); small == nil {
			return content, file.MediaType, nil
		}
		s.keep(scaled{file.SHA256, edge, small})
	}
	return small, domain.MediaJPEG, nil
}

// scalable reports whether a picture is over the bounds and can be decoded in the memory that there is for it.
func scalable(content []byte, most int64, edge int) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	over := int64(len(content)) > most || max(config.Width, config.Height) > edge
	return err == nil && over && decodedSize(config, content) <= maxDecoded
}

// decodedSize is the memory of a picture that is decoded. A decoder of a progressive JPEG also holds four bytes for each of its samples.
func decodedSize(config image.Config, content []byte) int64 {
	perPixel := int64(4)
	switch {
	case isProgressive(content):
		perPixel = 4 * 5
	case config.ColorModel == color.NRGBA64Model || config.ColorModel == color.RGBA64Model:
		perPixel = 8
	}
	return int64(config.Width) * int64(config.Height) * perPixel
}

// scale is the picture as a JPEG within the bounds, or nil where that cannot be. A decoder that panics must not end the process.
func (s *Scaler) scale(content []byte, edge int, most int64) (small []byte) {
	defer func() {
		if recover() != nil {
			small = nil
		}
	}()
	picture, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	exif := exifOf(content)
	for range 5 { // the noise of a picture may need more bytes than the vendor takes
		encoded := s.draw(picture, edge)
		if len(encoded) > 0 && int64(len(encoded)+len(exif)) <= most {
			return append(append(encoded[:2:2], exif...), encoded[2:]...) // behind the marker that begins each JPEG
		}
		edge = edge * 3 / 4
	}
	return nil
}

// drawn is the picture on white as a JPEG, with a longer edge of at most so many pixels. Each step halves the edges at most: bilinear scaling reads four pixels for each
// new one, and would leave others out.
func drawn(picture image.Image, edge int) []byte {
	size := picture.Bounds().Size()
	whole := max(size.X, size.Y)
	for longer, fill := whole, draw.Over; ; fill = draw.Src {
		longer = max(min(edge, longer), (longer+1)/2)
		canvas := image.NewRGBA(image.Rect(0, 0, max(size.X*longer/whole, 1), max(size.Y*longer/whole, 1)))
		if fill == draw.Over {
			draw.Draw(canvas, canvas.Bounds(), image.White, image.Point{}, draw.Src)
		}
		draw.ApproxBiLinear.Scale(canvas, canvas.Bounds(), picture, picture.Bounds(), fill, nil)
		if picture = canvas; longer > edge {
			continue
		}
		var encoded bytes.Buffer
		if jpeg.Encode(&encoded, picture, &jpeg.Options{Quality: quality}) != nil {
			return nil
		}
		return encoded.Bytes()
	}
}

func (s *Scaler) find(sha256 string, edge int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.kept {
		if one.sha256 == sha256 && one.edge == edge {
			return one.content
		}
	}
	return nil
}

// keep drops the oldest results where there are too many; such a picture is scaled again.
func (s *Scaler) keep(one scaled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, one)
	size := 0
	for i := len(s.kept) - 1; i >= 0; i-- {
		if size += len(s.kept[i].content); size > maxScaled {
			s.kept = append([]scaled(nil), s.kept[i+1:]...)
			return
		}
	}
}

// The markers of a JPEG's segments: https://www.w3.org/Graphics/JPEG/itu-t81.pdf, table B.1
const (
	markerProgressive = 0xC2
	markerScan        = 0xDA
	markerExif        = 0xE1 // APP1
)

// exifOf is the segment of a JPEG that tells how it was held, or nil: the scaled picture is turned like the original.
func exifOf(content []byte) []byte {
	return segment(content, func(marker byte, segment []byte) bool {
		return marker == markerExif && bytes.HasPrefix(segment[4:], []byte("Exif\x00\x00"))
	})
}

func isProgressive(content []byte) bool {
	return segment(content, func(marker byte, _ []byte) bool { return marker == markerProgressive }) != nil
}

// segment is the first segment of a JPEG in front of its pixels that is the wanted one, with its marker.
func segment(content []byte, wanted func(marker byte, segment []byte) bool) []byte {
	if !bytes.HasPrefix(content, []byte{0xFF, 0xD8}) {
		return nil
	}
	for rest := content[2:]; len(rest) >= 4 && rest[0] == 0xFF && rest[1] != markerScan; {
		if rest[1] == 0xFF { // a byte that fills
			rest = rest[1:]
			continue
		}
		length := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if length < 4 || length > len(rest) {
			return nil
		}
		if wanted(rest[1], rest[:length]) {
			return rest[:length]
		}
		rest = rest[length:]
	}
	return nil
}
