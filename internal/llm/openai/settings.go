package openai

import (
	"cmp"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// settingDialect is which settings a vendor has, and the fields that they are sent in. Its zero value is a server that nobody knows: it is sent all of
// them, as OpenAI first called them.
//
// Sources, as of 2026-11:
//   - OpenAI: https://platform.openai.com/docs/api-reference/chat/create. Which efforts a model has differs; the vendor says so.
//   - Gemini: https://ai.google.dev/gemini-api/docs/openai#thinking; that it answers seed with 400: Vali-98/ChatterUI #227; parallel_tool_calls has no effect
//   - DeepSeek: https://api-docs.deepseek.com/guides/thinking_mode (it maps levels that it does not have by itself),
//     https://api-docs.deepseek.com/api/create-chat-completion
//   - Kimi: https://platform.kimi.ai/docs/guide/use-thinking-effort, https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model; the temperature of its
//     models is fixed, another one is answered with 400: https://platform.kimi.ai/docs/api/chat
//   - GLM: https://docs.z.ai/guides/capabilities/thinking-mode, https://docs.z.ai/guides/overview/concept-param; that models before 5.2 have no effort, and
//     those since 5.3 always think, was measured by others (nesquena/hermes-webui exp-v0.52.105, ceulen-dev/ceulen v0.23.0)
//   - Mistral: https://docs.mistral.ai/api/#tag/chat
//   - Groq: https://console.groq.com/docs/api-reference#chat-create
//   - OpenRouter: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens, https://openrouter.ai/docs/api-reference/parameters
//   - Ollama: https://docs.ollama.com/api/openai-compatibility
//   - vLLM: https://docs.vllm.ai/en/latest/serving/openai_compatible_server/
//   - LM Studio: https://lmstudio.ai/docs/developer/openai-compat/chat-completions
type settingDialect struct {
	// rules are the settings that the vendor has for a model; nil = nobody knows.
	rules func(model string) provider.SettingRules
	// reasoning are the fields for an effort, and for none at all, which is empty; nil = reasoning_effort.
	reasoning func(model string, level domain.Effort) map[string]any
	maxTokens string // empty = max_tokens
	seed      string // empty = seed
}

// has are the rules of a vendor that has these settings for all its models.
func has(efforts []domain.Effort, names ...string) func(string) provider.SettingRules {
	rules := provider.SettingRules{Known: true, Names: names, Efforts: efforts}
	return func(string) provider.SettingRules { return rules }
}

// maxCompletionTokens is what newer APIs call the limit, since reasoning counts as well.
const maxCompletionTokens = "max_completion_tokens"

var (
	openaiSettings = settingDialect{rules: has(nil, domain.SettingNames...), maxTokens: maxCompletionTokens}
	geminiSettings = settingDialect{rules: has([]domain.Effort{"none", "minimal", "low", "medium", "high"},
		domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingTemperature), reasoning: geminiReasoning}
	deepseekSettings = settingDialect{rules: has(nil, domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingTemperature),
		reasoning: deepseekReasoning}
	kimiSettings    = settingDialect{rules: kimiRules, reasoning: kimiReasoning, maxTokens: maxCompletionTokens}
	glmSettings     = settingDialect{rules: glmRules, reasoning: glmReasoning}
	mistralSettings = settingDialect{rules: has([]domain.Effort{"none", "minimal", "low", "medium", "high", "xhigh"}, domain.SettingNames...), seed: "random_seed"}
	groqSettings    = settingDialect{rules: has([]domain.Effort{"none", "low", "medium", "high"}, domain.SettingNames...), maxTokens: maxCompletionTokens}

	openrouterSettings = settingDialect{rules: has([]domain.Effort{"none", "minimal", "low", "medium", "high", "xhigh"}, domain.SettingNames...),
		reasoning: openrouterReasoning}
	ollamaSettings = settingDialect{rules: has([]domain.Effort{"none", "low", "medium", "high"},
		domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingTemperature, domain.SettingSeed)}
	vllmSettings     = settingDialect{rules: has(nil, domain.SettingNames...)}
	lmstudioSettings = settingDialect{rules: has(nil, domain.SettingMaxOutputTokens, domain.SettingTemperature, domain.SettingSeed)}
)

// settingFields are the fields of a request for its settings, and those that the entry adds where the settings leave room for them.
func (c *client) settingFields(request provider.Request) map[string]any {
	dialect, wanted, fields := c.vendor.settings, request.Settings, map[string]any{}
	for name, value := range c.extra {
		if name != "response_format" || request.Schema == nil {
			fields[name] = value
		}
	}
	_, asksItself := c.extra[extraBody] // the entry's, which may say how Gemini thinks
	switch {
	case dialect.reasoning != nil && !asksItself:
		maps.Copy(fields, dialect.reasoning(c.model, wanted.Effort))
	case wanted.Effort != "":
		fields["reasoning_effort"] = wanted.Effort
	}
	if wanted.MaxOutputTokens > 0 {
		fields[cmp.Or(dialect.maxTokens, "max_tokens")] = wanted.MaxOutputTokens
	}
	if wanted.Temperature != nil {
		fields["temperature"] = *wanted.Temperature
	}
	if wanted.Seed != nil {
		fields[cmp.Or(dialect.seed, "seed")] = *wanted.Seed
	}
	if wanted.ParallelToolCalls != nil && len(request.Tools) > 0 { // without tools, OpenAI refuses it
		fields["parallel_tool_calls"] = *wanted.ParallelToolCalls
	}
	return fields
}

// thinking is a switch that some vendors have beside their levels, or in their place.
func thinking(on bool) map[string]any {
	if on {
		return map[string]any{"type": "enabled"}
	}
	return map[string]any{"type": "disabled"}
}

func deepseekReasoning(_ string, level domain.Effort) map[string]any {
	switch level {
	case "":
		return nil
	case domain.EffortNone:
		return map[string]any{"thinking": thinking(false)}
	default:
		return map[string]any{"thinking": thinking(true), "reasoning_effort": level}
	}
}

func openrouterReasoning(_ string, level domain.Effort) map[string]any {
	if level == "" {
		return nil
	}
	return map[string]any{"reasoning": map[string]any{"effort": level}}
}

// onOff are the levels of a model that thinks or does not.
var onOff = []domain.Effort{domain.EffortNone, "high"}

// kimiRules differ by the generation: K3 has levels and always thinks, K2.5 and K2.6 think or do not, K2.7 and the models that are named after it always
// think, and the older moonshot-v1 never does, but has a temperature.
func kimiRules(model string) provider.SettingRules {
	rules := provider.SettingRules{Known: true, Names: []string{domain.SettingEffort, domain.SettingMaxOutputTokens}}
	switch version, known := versionOf(model, "kimi-k"); {
	case !known:
		rules.Names = []string{domain.SettingMaxOutputTokens, domain.SettingTemperature}
	case version >= 300:
		rules.Efforts = []domain.Effort{"low", "high", "max"}
	case version == 205 || version == 206:
		rules.Efforts = onOff
	default:
		rules.Names = []string{domain.SettingMaxOutputTokens}
	}
	return rules
}

func kimiReasoning(model string, level domain.Effort) map[string]any {
	switch version, _ := versionOf(model, "kimi-k"); {
	case level == "":
		return nil
	case version >= 300:
		return map[string]any{"reasoning_effort": level}
	default:
		return map[string]any{"thinking": thinking(level != domain.EffortNone)}
	}
}

// glmRules differ by the generation: before 5.2 a model thinks or does not, 5.2 has levels beside that, and since 5.3 a model has levels alone.
func glmRules(model string) provider.SettingRules {
	rules := provider.SettingRules{Known: true, Names: []string{domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingTemperature}}
	switch version, known := versionOf(model, "glm-"); {
	case !known || version >= 503:
		rules.Efforts = []domain.Effort{"low", "high", "max"}
	case version < 502:
		rules.Efforts = onOff
	}
	return rules
}

// glmReasoning also has the server keep the reasoning of earlier answers, which it drops otherwise, though it is sent back. That is known since 4.7.
func glmReasoning(model string, level domain.Effort) map[string]any {
	version, known := versionOf(model, "glm-")
	keeps := !known || version >= 407
	if level == "" && !keeps {
		return nil
	}
	switched := thinking(level != domain.EffortNone)
	fields := map[string]any{"thinking": switched}
	if level != domain.EffortNone && keeps {
		switched["clear_thinking"] = false
	}
	if level != "" && level != domain.EffortNone && (!known || version >= 502) {
		fields["reasoning_effort"] = level
	}
	return fields
}

// versionOf reads the version that stands behind a word in the name of a model: 503 for 5.3, and 500 for 5.
func versionOf(model, word string) (version int, known bool) {
	_, behind, found := strings.Cut(strings.ToLower(model), word)
	numbers := leadingVersion.FindStringSubmatch(behind)
	if !found || numbers == nil {
		return 0, false
	}
	major, _ := strconv.Atoi(numbers[1])
	minor, _ := strconv.Atoi(numbers[2])
	return 100*major + minor, true
}

var leadingVersion = regexp.MustCompile(`^(\d{1,2})(?:\.(\d{1,2}))?(?:[^\d.]|$)`)

// settingRules are the rules of the vendor of a model.
func settingRules(model provider.Model, _ domain.ModelSettings) provider.SettingRules {
	if rules := vendorOf(model).settings.rules; rules != nil {
		return rules(model.Model)
	}
	return provider.SettingRules{}
}
