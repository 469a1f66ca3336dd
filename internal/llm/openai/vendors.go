package openai

import (
	"crypto/sha256"
	"math/big"
	"net/url"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// vendor is what is particular about one of those who speak chat completions. Its zero value is a server that nobody knows.
//
// Sources, as of 2026-11:
//   - Gemini: https://ai.google.dev/gemini-api/docs/thought-signatures
//   - DeepSeek: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls
//   - Kimi: https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model; that a blank is the shortest thought that its newer models
//     take for one, and the empty text is not, was measured by others (theopenco/llmgateway #2093, earendil-works/pi #4178)
//   - GLM: https://docs.z.ai/guides/capabilities/thinking-mode
//   - Mistral: https://docs.mistral.ai/capabilities/reasoning/; that its ids of calls have nine letters and digits, and another one is answered with 400
//     (code 3280), was seen by others (editor-code-assistant/eca #233, langchain-ai/langchain #24668)
//   - schemas: https://platform.openai.com/docs/guides/structured-outputs, https://ai.google.dev/gemini-api/docs/structured-output (with tools only
//     since Gemini 3), https://docs.mistral.ai/capabilities/structured_output/custom, https://openrouter.ai/docs/guides/features/structured-outputs,
//     https://docs.ollama.com/capabilities/structured-outputs, https://docs.vllm.ai/en/latest/features/structured_outputs.html,
//     https://lmstudio.ai/docs/developer/openai-compat/structured-output; DeepSeek, Kimi and GLM have the format json_object alone; Groq
//     does not stream answers with a schema: https://console.groq.com/docs/structured-outputs
//   - pictures and PDF: https://platform.openai.com/docs/guides/images-vision, https://platform.openai.com/docs/guides/pdf-files,
//     https://openrouter.ai/docs/features/multimodal/pdfs, https://ai.google.dev/gemini-api/docs/openai#image-understanding; results of calls with pictures, and
//     the roles that may follow them, for Mistral: https://docs.mistral.ai/api/#tag/chat; for DeepSeek: https://api-docs.deepseek.com/guides/vision; kinds of pictures:
//     https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats, https://github.com/ollama/ollama/blob/main/openai/openai.go
//   - fields of messages: https://api-docs.deepseek.com/api/create-chat-completion has the content of an answer as required
//   - fields of requests: the SDK of GLM's vendor has no stream_options, https://github.com/zai-org/z-ai-sdk-python
//   - Azure: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
type vendor struct {
	name    string // as a provider of its own; see [Presets]
	address string // empty = the configuration must have it
	keyEnv  string // the variable that its own tools read; empty = it wants no key
	hosts   []string

	replay thoughtReplay
	// filler stands for the thought of an answer with calls that has none: the vendor refuses the conversation otherwise. nil = it does not.
	filler *string
	// signs: the first call of each answer needs a signature, else the vendor refuses the conversation.
	signs bool
	// shortIDs: the vendor refuses a conversation with an id of a call that is not nine letters and digits.
	shortIDs bool
	// wantsContent: each answer needs a content, be it the empty text.
	wantsContent bool
	// noUsageOption: the vendor refuses stream_options, or has no such field; it reports the usage without being asked.
	noUsageOption bool
	// pdf: the vendor takes PDF files in messages, beside pictures.
	pdf bool
	// gemini: the server is Gemini's. It sends thoughts only to a client that asks for them, and does not count them in the output.
	gemini bool
	// noGIF: the vendor refuses GIF pictures, and with them each later request of the conversation.
	noGIF bool
	// resultPictures: results of calls hold pictures, and nothing but an answer may follow them. For other vendors results are text, and a message of
	// the user behind them has the pictures.
	resultPictures bool
	// schemas is when the vendor holds an answer to a schema.
	schemas schemaSupport
	// settings are those that the vendor has, and how it wants to be sent them.
	settings settingDialect
}

// thoughtReplay is which thoughts of earlier answers go back to the model that had them, in the field that they came in.
type thoughtReplay int

const (
	replayInTurn thoughtReplay = iota // of answers with calls, since the user last spoke: nobody needs more, and it costs least
	replayCalls                       // of all answers with calls
	replayAll                         // of all answers
	replayNever                       // the vendor refuses the field
)

// The vendors with a name of their own. What is not here is asked by the provider [Name] with an address.
var vendors = []vendor{
	{hosts: []string{"api.openai.com"}, pdf: true, schemas: schemaAlways, settings: openaiSettings},
	{name: "gemini", address: "https://generativelanguage.googleapis.com/v1beta/openai", keyEnv: "GEMINI_API_KEY",
		hosts: []string{"generativelanguage.googleapis.com"}, replay: replayNever, signs: true, noGIF: true, schemas: schemaGemini, gemini: true, settings: geminiSettings},
	{name: "deepseek", address: "https://api.deepseek.com", keyEnv: "DEEPSEEK_API_KEY",
		hosts: []string{"api.deepseek.com"}, replay: replayCalls, filler: new(""), wantsContent: true, settings: deepseekSettings},
	{name: "kimi", address: "https://api.moonshot.ai/v1", keyEnv: "MOONSHOT_API_KEY",
		hosts: []string{"api.moonshot.ai", "api.moonshot.cn"}, replay: replayAll, filler: new(" "), settings: kimiSettings},
	{name: "glm", address: "https://api.z.ai/api/paas/v4", keyEnv: "ZAI_API_KEY",
		hosts: []string{"api.z.ai", "open.bigmodel.cn"}, replay: replayAll, noUsageOption: true, settings: glmSettings},
	{name: "mistral", address: "https://api.mistral.ai/v1", keyEnv: "MISTRAL_API_KEY",
		hosts: []string{"api.mistral.ai"}, replay: replayNever, shortIDs: true, resultPictures: true, noUsageOption: true, schemas: schemaAlone,
		settings: mistralSettings},
	{name: "groq", address: "https://api.groq.com/openai/v1", keyEnv: "GROQ_API_KEY", hosts: []string{"api.groq.com"}, settings: groqSettings},
	{name: "openrouter", address: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY", hosts: []string{"openrouter.ai"}, replay: replayAll, pdf: true, schemas: schemaAlone,
		settings: openrouterSettings},
	{name: "ollama", address: "http://127.0.0.1:11434/v1", noGIF: true, schemas: schemaAlone, settings: ollamaSettings},
	{name: "vllm", address: "http://127.0.0.1:8000/v1", schemas: schemaAlone, settings: vllmSettings},
	{name: "lmstudio", address: "http://127.0.0.1:1234/v1", schemas: schemaAlone, settings: lmstudioSettings},
	{name: "azure", keyEnv: "AZURE_OPENAI_API_KEY", schemas: schemaAlways, settings: openaiSettings}, // https://RESOURCE.openai.azure.com/openai/v1, whose key goes where OpenAI's goes
}

// sends are the media types that the vendor's models are sent. Which of them see pictures is theirs to say.
func (v vendor) sends() []string {
	switch {
	case v.pdf:
		return provider.PicturesAndPDF
	case v.noGIF:
		return []string{domain.MediaPNG, domain.MediaJPEG, domain.MediaWebP}
	}
	return provider.Pictures
}

// wireID makes one of our ids one that the vendor takes.
func (v vendor) wireID(id string) string {
	if !v.shortIDs {
		return provider.Word(id)
	}
	sum := sha256.Sum256([]byte(id))
	return new(big.Int).SetBytes(sum[:]).Text(62)[:9]
}

// Presets are the vendors as providers: a name that stands for an address, a key variable and what is particular about the vendor.
func Presets() []provider.Provider {
	var presets []provider.Provider
	for _, v := range vendors {
		if v.name == "" {
			continue
		}
		preset := Provider
		preset.Name, preset.Address, preset.KeyEnv, preset.NeedsAddress = v.name, v.address, v.keyEnv, v.address == ""
		presets = append(presets, preset)
	}
	return presets
}

// vendorOf finds the vendor by the name of the provider, or else by the host: also those who name the address alone get its rules.
func vendorOf(model provider.Model) vendor {
	address, err := url.Parse(model.BaseURL)
	if err != nil {
		return vendor{}
	}
	for _, v := range vendors {
		if v.name != "" && v.name == model.Provider {
			return v
		}
		for _, host := range v.hosts {
			if strings.EqualFold(address.Hostname(), host) {
				return v
			}
		}
	}
	return vendor{}
}
