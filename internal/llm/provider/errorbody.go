package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// errorText finds the sentence in the error bodies that are about: {"error": {"message", "code"}}, {"error": "text"},
// {"detail": …}, {"message": …}, or plain text. A page of HTML says nothing. Without a code, the type is the code: Anthropic sends
// only types, OpenAI has both. The reasons are those of a content filter. Gemini's endpoint has the whole in a list of one.
func errorText(body []byte) (message, code string, reasons []string) {
	read, err := Document(body)
	if err != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") {
			return "", "", nil
		}
		return text, "", nil
	}
	if first := read.Get("0"); read.IsArray() && first.IsObject() {
		read = first
	}
	for _, name := range []string{"error", "detail", "message"} {
		part := Field(read, name)
		inner := Field(part, "message").Str
		switch {
		case inner != "":
			return inner, cmp.Or(Field(part, "code").String(), Field(part, "type").String()), filterReasons(part)
		case part.Type == gjson.String && part.Str != "":
			return part.Str, "", nil
		case part.Type != gjson.String && part.Type != gjson.Null:
			return part.Raw, "", nil
		}
	}
	return "", "", nil
}

// filterReasons are the categories of a content filter: Azure's, and the reasons of OpenRouter's moderation.
func filterReasons(failed gjson.Result) []string {
	reasons := FilterCategories(failed.Get("innererror.content_filter_result"))
	if flagged := failed.Get("metadata.reasons"); flagged.IsArray() {
		for _, reason := range flagged.Array() {
			reasons = append(reasons, reason.Str)
		}
	}
	return reasons
}

// FilterCategories are those in which Azure's filter has found something that it does not let pass, each with its severity where it has one:
// https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter-annotations
func FilterCategories(results gjson.Result) (categories []string) {
	if !results.IsObject() {
		return nil
	}
	results.ForEach(func(name, result gjson.Result) bool {
		if Field(result, "filtered").Type == gjson.True {
			categories = append(categories, strings.TrimSpace(name.String()+" "+Field(result, "severity").Str))
		}
		return true
	})
	slices.Sort(categories)
	return categories
}
