package http

import (
	"fmt"
	"strings"

	"signoff/internal/domain"
)

// addTool shows the tool of an MCP server, and how its definition differs from the approved one.
func (p *page) addTool(review *domain.MCPReview) {
	if review == nil {
		return
	}
	p.Facts = append(p.Facts, fact{Name: "MCP server", Text: domain.Reveal(review.Server + ", tool " + review.Tool)})
	if claims := serverClaims(review.Annotations); claims != "" {
		p.Facts = append(p.Facts, fact{Name: "The server claims, and nobody has checked", Text: claims})
	}
	if says := standing(review); says != "" {
		p.Facts = append(p.Facts, fact{Name: "Definition of the tool", Text: says})
	}
	if len(review.Changes) > 0 {
		p.Facts = append(p.Facts, fact{Name: "What has changed", Text: changes(review), Code: true})
	}
}

// serverClaims are the hints that a server gives.
func serverClaims(a domain.MCPAnnotations) string {
	var all []string
	for _, hint := range []struct {
		value   *bool
		yes, no string
	}{
		{a.ReadOnly, "it only reads", "it changes something"}, {a.Destructive, "it may destroy something", "it destroys nothing"},
		{a.Idempotent, "once more does no more", "once more does more"}, {a.OpenWorld, "it reaches the outside", "it stays inside"},
	} {
		if hint.value != nil && *hint.value {
			all = append(all, hint.yes)
		} else if hint.value != nil {
			all = append(all, hint.no)
		}
	}
	return strings.Join(all, "; ")
}

func standing(review *domain.MCPReview) string {
	switch review.Standing {
	case domain.MCPToolNew:
		return "New: nobody has approved this tool before."
	case domain.MCPToolKnown:
		return "The same as when it was approved: " + approvedBy(review) + "."
	case domain.MCPToolChanged:
		return "It has changed since it was approved: " + approvedBy(review) + "."
	default:
		return ""
	}
}

func approvedBy(review *domain.MCPReview) string {
	if review.PinnedBy == nil || review.PinnedAt == nil {
		return "by somebody"
	}
	return "by " + domain.Reveal(review.PinnedBy.Name) + ", " + formatTime(*review.PinnedAt)
}

func changes(review *domain.MCPReview) string {
	var text strings.Builder
	for _, change := range review.Changes {
		fmt.Fprintf(&text, "%s\n- %s\n+ %s\n", domain.Reveal(change.Field), side(change.Before), side(change.After))
	}
	if review.ChangesShort {
		text.WriteString("There is more: some of it is left out here.\n")
	}
	return text.String()
}

func side(text *string) string {
	if text == nil {
		return "(not there)"
	}
	return strings.ReplaceAll(domain.Reveal(*text), "\n", "\n  ")
}
