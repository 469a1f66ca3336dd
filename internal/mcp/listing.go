package mcp

// Resource is something to read that a server offers.
type Resource struct {
	URI         string
	Name        string
	Description string
	MediaType   string
}

// Prompt is a text of a server, with arguments.
type Prompt struct {
	Name        string
	Description string
	Arguments   []PromptArgument
}

// PromptArgument is an argument of a [Prompt].
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}
