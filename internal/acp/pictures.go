package acp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"path"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// pictures are those of a call's result, as its newest report shows them.
type pictures struct {
	files []domain.PromptPart
	saved map[[sha256.Size]byte]domain.PromptPart // agents repeat the content of a call in each report
}

// callPictures bounds the pictures of one call.
const callPictures = domain.MaxPromptPictures

// take stores the pictures in the content of a report, and puts their ids in the place of their bytes: the log has each report, and the files have the
// bytes once. It reports whether it has changed the report. If a picture cannot be stored, the report says why.
func (p *pictures) take(ctx context.Context, host domain.Host, update wire.Object) (changed bool) {
	if !update.Has("content") {
		return false
	}
	p.files = nil
	entries := update.List("content")
	for i := range entries {
		entry := wire.ReadObject(entries[i])
		picture := entry.Object("content")
		if picture.Text("type") != "image" || !picture.Has("data") {
			continue
		}
		part, err := p.save(ctx, host, picture)
		delete(picture, "data")
		if err != nil {
			picture["leftOut"] = domain.Encode(domain.FailureOf(err).Message)
		} else {
			picture["fileId"] = domain.Encode(part.FileID)
			p.files = append(p.files, part)
		}
		entry["content"] = domain.Encode(picture)
		entries[i], changed = domain.Encode(entry), true
	}
	if changed {
		update["content"] = domain.Encode(entries)
	}
	return changed
}

func (p *pictures) save(ctx context.Context, host domain.Host, picture wire.Object) (domain.PromptPart, error) {
	if len(p.files) == callPictures {
		return domain.PromptPart{}, domain.Errorf(domain.CodeTooMany, "At most %d pictures of a call are kept.", callPictures)
	}
	content, err := base64.StdEncoding.DecodeString(picture.Text("data"))
	if err != nil {
		return domain.PromptPart{}, domain.Errorf(domain.CodeMalformed, "The picture is not in base64.")
	}
	sum := sha256.Sum256(content)
	if known, is := p.saved[sum]; is {
		return known, nil
	}
	if mediaType, err := domain.ResultMediaTypeOf(content); err == nil && !domain.IsPicture(mediaType) {
		return domain.PromptPart{}, domain.Errorf(domain.CodeUnsupportedMedia, "The picture is %s.", mediaType)
	}
	name := ""
	if uri := picture.Text("uri"); uri != "" {
		name = path.Base(uri)
	}
	file, err := host.SaveFile(ctx, name, content)
	if err != nil {
		return domain.PromptPart{}, err
	}
	part, err := domain.PromptPart{Type: domain.PartImage}.Stored("", file)
	if err != nil {
		return part, err
	}
	if p.saved == nil {
		p.saved = map[[sha256.Size]byte]domain.PromptPart{}
	}
	p.saved[sum] = part
	return part, nil
}

// withoutEcho returns the agent's repetition of a prompt without the bytes of its pictures and files: the agent got them from us.
func withoutEcho(update wire.Object, raw json.RawMessage) json.RawMessage {
	content := update.Object("content")
	resource := content.Object("resource")
	switch {
	case content.Has("data"):
		delete(content, "data")
	case resource.Has("blob"):
		delete(resource, "blob")
		content["resource"] = domain.Encode(resource)
	default:
		return raw
	}
	update["content"] = domain.Encode(content)
	return domain.Encode(update)
}
