package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// CheckParts refuses the pictures and files of a prompt that one of the source's models does not take: without them, the model would be asked about a file
// that it does not see. Text files go to every model, as text.
func (r *Registry) CheckParts(source domain.Source, pointer string, parts []domain.PromptPart) error {
	for _, name := range append([]string{source.Model}, source.Fallbacks...) {
		found, known := r.candidates[name]
		if !known {
			continue // of an execution of a server with another registry; opening it says so
		}
		for i, part := range parts {
			if part.IsFile() && !domain.IsText(part.MediaType) && !slices.Contains(found.media(), part.MediaType) {
				return domain.Invalid(fmt.Sprintf("%s/%d", pointer, i), "The model %s is not sent files of the type %s; %s.",
					found.model.Name, part.MediaType, taken(found.media()))
			}
		}
	}
	return nil
}

func taken(media []string) string {
	return "it takes text files" + strings.Join(append([]string{""}, media...), ", ")
}

// withTextFiles puts the text files of a conversation into the texts of its messages, each at its place and under its name. The other parts stay as they are.
// The newest files go first: those of all prompts of a long conversation must not fill the memory.
func withTextFiles(ctx context.Context, host domain.Host, history []domain.Message) ([]domain.Message, error) {
	history = slices.Clone(history)
	room := int64(maxRequestFiles)
	for i := range slices.Backward(history) {
		if m := &history[i]; m.Role == domain.RoleUser && m.Parts != nil {
			parts, err := readTexts(ctx, host, m.Parts, &room)
			if err != nil {
				return nil, err
			}
			m.Text, m.Parts = domain.PartsText(parts), parts
			if domain.FileParts(parts) == nil {
				m.Parts = nil
			}
		}
	}
	return history, nil
}

// readTexts is parts with a text in the place of each text file, or a note where room has too few bytes left for the file.
func readTexts(ctx context.Context, host domain.Host, parts []domain.PromptPart, room *int64) ([]domain.PromptPart, error) {
	read := slices.Clone(parts)
	for i, part := range slices.Backward(parts) {
		if !part.IsFile() || !domain.IsText(part.MediaType) {
			continue
		}
		if part.Size > *room {
			read[i] = part.LeftOut(domain.NoRoom)
			continue
		}
		*room -= part.Size
		_, content, err := host.ReadFile(ctx, part.FileID)
		if err != nil {
			return nil, fmt.Errorf("llm: read a file of the prompt: %w", err)
		}
		read[i] = domain.PromptPart{Type: domain.PartText, Text: part.AsText(content)}
	}
	return read, nil
}

// media are the media types that the model is sent.
func (c *candidate) media() []string {
	if c.provider.Media == nil {
		return nil
	}
	return c.provider.Media(c.model)
}

// scaler is one for the process: it bounds the memory of pictures that are scaled down.
var scaler = provider.NewScaler()

// read returns the bytes and the media type of a file as the model is sent it, in a request with so many pictures.
func (c *candidate) read(ctx context.Context, host domain.Host, part domain.PromptPart, pictures int) (content []byte, media string, err error) {
	file, content, err := host.ReadFile(ctx, part.FileID)
	if err != nil {
		return nil, "", fmt.Errorf("llm: read a file of the conversation: %w", err)
	}
	if bounds := c.provider.Pictures; bounds != nil && part.Type == domain.PartImage {
		return scaler.Fit(ctx, *bounds, pictures, file, content)
	}
	return content, part.MediaType, nil
}

// tooLarge reports whether the model's vendor refuses a picture with these bytes for its size.
func (c *candidate) tooLarge(part domain.PromptPart, content []byte) bool {
	return part.Type == domain.PartImage && c.provider.Pictures != nil && int64(len(content)) > c.provider.Pictures.Bytes
}

// maxRequestFiles bounds the bytes of the files of one request, those of text files apart: the pictures of all turns of a long conversation must neither fill the memory nor a request
// beyond what vendors take, 32 MB (https://platform.claude.com/docs/en/api/overview#request-size-limits) to 50 MB. The files of the newest prompt fit.
const maxRequestFiles = domain.MaxPromptBytes

// withFiles returns the conversation for one model, and the bytes of its files. A text takes the place of a file that the model is not sent. Such a file
// comes from a tool or from a conversation with another model, since a prompt with it would have been refused. If there are too many files, the newest
// are sent. A picture that is too large for the vendor, and cannot be scaled down, is sent with its own prompt alone, which gets the refusal.
func withFiles(ctx context.Context, host domain.Host, view []domain.Message, asked *candidate) ([]domain.Message, map[domain.FileID][]byte, error) {
	view = slices.Clone(view)
	files, size := map[domain.FileID][]byte{}, int64(0)
	pictures := countPictures(view)
	newest := lastIndex(view, func(m domain.Message) bool { return m.Role == domain.RoleUser })
	for i := len(view) - 1; i >= 0; i-- {
		m := &view[i]
		if len(m.Parts) == 0 {
			m.Parts = nil
			continue
		}
		parts := slices.Clone(m.Parts)
		for at := len(parts) - 1; at >= 0; at-- {
			switch part := parts[at]; {
			case !part.IsFile():
			case !slices.Contains(asked.media(), part.MediaType):
				parts[at] = part.LeftOut("this model is not sent " + part.MediaType)
			case size+part.Size > maxRequestFiles:
				parts[at] = part.LeftOut(domain.NoRoom)
			default:
				content, media, err := asked.read(ctx, host, part, pictures)
				if err != nil {
					return nil, nil, err
				}
				if i != newest && asked.tooLarge(part, content) {
					parts[at] = part.LeftOut(fmt.Sprintf("this model takes pictures of at most %d bytes", asked.provider.Pictures.Bytes))
					continue
				}
				size += part.Size
				files[part.FileID], parts[at].MediaType = content, media
			}
		}
		m.Text, m.Parts = fileText(*m, parts), fileParts(*m, parts)
	}
	return view, files, nil
}

// countPictures counts those of all messages, also those that will be left out: a picture that is scaled down further than it has to be is not refused.
func countPictures(view []domain.Message) (count int) {
	for _, m := range view {
		for _, part := range m.Parts {
			if part.Type == domain.PartImage {
				count++
			}
		}
	}
	return count
}

// fileText is the text of a message with its parts. A result has its text beside them, a prompt has it among them.
func fileText(m domain.Message, parts []domain.PromptPart) string {
	if m.Role != domain.RoleTool {
		return domain.PartsText(parts)
	}
	return strings.TrimSpace(m.Text + "\n\n" + domain.PartsText(parts))
}

// fileParts are the parts that are sent: those of a prompt with a file, and the pictures of a result.
func fileParts(m domain.Message, parts []domain.PromptPart) []domain.PromptPart {
	files := domain.FileParts(parts)
	if m.Role == domain.RoleTool || files == nil {
		return files
	}
	return parts
}
