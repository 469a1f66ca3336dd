package settings

import (
	"fmt"
	"slices"
	"strings"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Takes is what an agent takes in a prompt beside text.
type Takes struct {
	Images    bool // blocks of the type image
	Resources bool // blocks of the type resource: the content of a file
}

// ReadTakes reads the capabilities that the answer to initialize declares. The agent lacks each one that it does not declare
// (https://agentclientprotocol.com/protocol/initialization#prompt-capabilities).
func ReadTakes(hello wire.Object) Takes {
	declared := hello.Object("agentCapabilities").Object("promptCapabilities")
	return Takes{Images: declared.Has("image"), Resources: declared.Has("embeddedContext")}
}

// MediaTypes lists the kinds of files that the agent is sent. Text files go to every agent, at least as text.
func (t Takes) MediaTypes() []string {
	return slices.DeleteFunc(slices.Clone(domain.MediaTypes), func(kind string) bool { return !t.takes(kind) })
}

func (t Takes) takes(mediaType string) bool {
	switch {
	case domain.IsText(mediaType):
		return true
	case domain.IsPicture(mediaType):
		return t.Images
	default:
		return t.Resources
	}
}

// Omits says why the agent is not sent a file; empty: it is.
func (t Takes) Omits(part domain.PromptPart) string {
	if !part.IsFile() || t.takes(part.MediaType) {
		return ""
	}
	return "this agent is not sent " + part.MediaType
}

// Check is [domain.CodeInvalid] for a file of a prompt that the agent is not sent: otherwise the agent would be asked about a file that it does not see.
// The pointers begin with pointer.
func (t Takes) Check(agent, pointer string, parts []domain.PromptPart) error {
	for i, part := range parts {
		if t.Omits(part) != "" {
			return domain.Invalid(fmt.Sprintf("%s/%d", pointer, i), "The agent %s has not declared that it takes files of the type %s; it takes %s.",
				agent, part.MediaType, strings.Join(t.MediaTypes(), ", "))
		}
	}
	return nil
}
