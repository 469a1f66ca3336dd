package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// block is a content block of a prompt as the client sends it.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	Data     string    `json:"data,omitempty"`
	Resource *resource `json:"resource,omitempty"`
	Bytes    int       `json:"bytes,omitempty"`  // of what was in base64
	SHA256   string    `json:"sha256,omitempty"` // of the same
}

type resource struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"`
}

// capabilities say which blocks a prompt may have beside text.
var capabilities = map[string]string{"image": "image", "resource": "embeddedContext"}

// may reports whether the agent has declared a capability of prompts.
func (a *agent) may(capability string) bool { return slices.Contains(a.takes, capability) }

func (t *turn) blocks() ([]block, error) {
	var asked struct {
		Prompt []block `json:"prompt"`
	}
	err := json.Unmarshal(t.params, &asked)
	return asked.Prompt, err
}

// mayHaveBlocks refuses a block that was not declared, as an agent may: its type says nothing to it.
func (t *turn) mayHaveBlocks() error {
	blocks, err := t.blocks()
	if err != nil {
		return failed(codeInvalidParams, "%v", err)
	}
	for i, b := range blocks {
		if b.Type != "text" && !t.agent.may(capabilities[b.Type]) {
			return failed(codeInvalidParams, "block %d: the type %s was not declared", i, b.Type)
		}
	}
	return nil
}

// sayBlocks says what the prompt has, with the hash of what is in base64 in its place.
func sayBlocks(t *turn, _ args) error {
	blocks, err := t.blocks()
	if err != nil {
		return err
	}
	for i := range blocks {
		if err := blocks[i].hash(); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return t.say(string(mustJSON(blocks)))
}

func (b *block) hash() error {
	encoded := b.Data
	if b.Resource != nil {
		encoded, b.Resource.Blob = b.Resource.Blob, ""
	}
	if b.Data = ""; encoded == "" {
		return nil
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return errors.New("no base64")
	}
	sum := sha256.Sum256(content)
	b.Bytes, b.SHA256 = len(content), hex.EncodeToString(sum[:])
	return nil
}
