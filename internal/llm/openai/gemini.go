package openai

import (
	"regexp"
	"strings"

	"signoff/internal/domain"
)

// geminiReasoning also asks for summaries of the thoughts: https://ai.google.dev/gemini-api/docs/openai#thinking. The endpoint refuses that beside
// reasoning_effort ("Expected one of either `reasoning_effort` or custom `thinking_config`; found both"), so the effort is a level of the thinking_config.
// Models before Gemini 3 have no levels there.
func geminiReasoning(model string, level domain.Effort) map[string]any {
	version, _ := versionOf(model, "gemini-")
	config := map[string]any{"include_thoughts": true}
	switch {
	case !showsThoughts(model) || level == domain.EffortNone || level != "" && version < 300:
		if level == "" {
			return nil
		}
		return map[string]any{"reasoning_effort": level}
	case level != "":
		config["thinking_level"] = level
	}
	return map[string]any{extraBody: map[string]any{"google": map[string]any{"thinking_config": config}}}
}

// extraBody is the field of what Google's own API has beside OpenAI's.
const extraBody = "extra_body"

// thinkers are the models of Gemini that think without being told to. The others refuse to show thoughts: those before 2.5, 2.5 Flash-Lite, and
// models for pictures and speech. https://ai.google.dev/gemini-api/docs/generate-content/thinking
var (
	thinkers = regexp.MustCompile(`gemini-(2\.5-(pro|flash)|[3-9]|\d\d)`)
	silent   = regexp.MustCompile(`2\.5-flash-lite|image|tts|audio|live|embedding`)
)

// showsThoughts reports whether a model of Gemini is asked for its thoughts.
func showsThoughts(model string) bool {
	model = strings.ToLower(model)
	return thinkers.MatchString(model) && !silent.MatchString(model)
}

// withThoughts counts the thoughts in the output, as everybody else does: Gemini has them in the total alone (openai/openai-python #2544).
func withThoughts(used domain.Usage) domain.Usage {
	if used.InputTokens == nil || used.OutputTokens == nil || used.TotalTokens == nil {
		return used
	}
	output := *used.TotalTokens - *used.InputTokens
	thoughts := output - *used.OutputTokens
	if thoughts <= 0 {
		return used
	}
	used.OutputTokens = &output
	if used.ReasoningTokens == nil {
		used.ReasoningTokens = &thoughts
	}
	return used
}
