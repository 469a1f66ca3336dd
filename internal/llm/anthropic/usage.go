package anthropic

import (
	"cmp"
	"encoding/json"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// usage is what the provider reported so far; nil is unknown. None of the three kinds of input counts in
// another.
type usage struct {
	Fresh      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Output     *int64 `json:"output_tokens"`
	Details    struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// take reads a report. The one at the end counts from the beginning of the answer, so its figures stand in place of the
// earlier ones.
func (u *usage) take(report string) {
	var newer usage
	if json.Unmarshal([]byte(report), &newer) != nil { // there is none, or it is nonsense
		return
	}
	u.Fresh = cmp.Or(provider.Plausible(newer.Fresh), u.Fresh)
	u.CacheRead = cmp.Or(provider.Plausible(newer.CacheRead), u.CacheRead)
	u.CacheWrite = cmp.Or(provider.Plausible(newer.CacheWrite), u.CacheWrite)
	u.Output = cmp.Or(provider.Plausible(newer.Output), u.Output)
	u.Details.Thinking = cmp.Or(provider.Plausible(newer.Details.Thinking), u.Details.Thinking)
}

// usage counts as everywhere in Signoff: the input is all that went in, and what came from the cache or went into it is
// a part of it. Anthropic counts the three apart.
func (u *usage) usage() domain.Usage {
	used := domain.Usage{
		OutputTokens:     u.Output,
		ReasoningTokens:  u.Details.Thinking,
		CacheReadTokens:  u.CacheRead,
		CacheWriteTokens: u.CacheWrite,
	}
	if u.Fresh != nil {
		used.InputTokens = sum(u.Fresh, u.CacheRead, u.CacheWrite)
	}
	if used.InputTokens != nil && used.OutputTokens != nil {
		used.TotalTokens = sum(used.InputTokens, used.OutputTokens)
	}
	return used
}

// sum adds up what is known.
func sum(figures ...*int64) *int64 {
	total := int64(0)
	for _, figure := range figures {
		if figure != nil {
			total += *figure
		}
	}
	return &total
}
