package events

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// A payload is words with one blank between them: the version, the log that sends it, and what it has written to.
//
//	v1 4XQZ2PJ7… e:0199a1c2-… e:0199a1c3-… t:default
//	v1 4XQZ2PJ7… *
//	v1 4XQZ2PJ7… !
//
// The last one says that its replica has released its executions.
//
// Ids are escaped as in the query of a URL, so none can pass for two words.
const (
	payloadVersion  = "v1"
	wordEverything  = "*"
	wordReleased    = "!"
	prefixExecution = "e:"
	prefixTenant    = "t:"
)

// payloads spells n out, in as many payloads as it takes.
func (n *notification) payloads(sender string) []string {
	head := payloadVersion + " " + sender
	if n.everything {
		return []string{head + " " + wordEverything}
	}
	var all []string
	payload := head
	for _, word := range n.words() {
		if len(payload)+1+len(word) > store.MaxNotification {
			all = append(all, payload)
			payload = head
		}
		payload += " " + word
	}
	return append(all, payload)
}

func (n *notification) words() []string {
	words := make([]string, 0, len(n.executions)+len(n.tenants))
	for _, id := range slices.Sorted(maps.Keys(n.executions)) {
		words = append(words, prefixExecution+url.QueryEscape(string(id)))
	}
	for _, tenant := range slices.Sorted(maps.Keys(n.tenants)) {
		words = append(words, prefixTenant+url.QueryEscape(string(tenant)))
	}
	return words
}

// parsePayload reads what payloads has written, and nothing else: whoever can reach the database can write to the
// channel. One unknown word makes the whole payload invalid, and the poll finds its writes.
func parsePayload(payload string) (sender string, n notification, ok bool) {
	words := strings.Split(payload, " ")
	if len(words) < 3 || words[0] != payloadVersion || words[1] == "" {
		return "", notification{}, false
	}
	sender, words = words[1], words[2:]
	if len(words) == 1 && (words[0] == wordEverything || words[0] == wordReleased) {
		return sender, notification{everything: words[0] == wordEverything, released: words[0] == wordReleased}, true
	}
	n = notification{executions: map[domain.ExecutionID]bool{}, tenants: map[domain.TenantID]bool{}}
	for _, word := range words {
		if !n.read(word) {
			return "", notification{}, false
		}
	}
	return sender, n, true
}

func (n *notification) read(word string) bool {
	if len(word) <= len(prefixTenant) {
		return false
	}
	prefix, escaped := word[:len(prefixTenant)], word[len(prefixTenant):]
	id, err := url.QueryUnescape(escaped)
	if err != nil || url.QueryEscape(id) != escaped {
		return false
	}
	switch prefix {
	case prefixExecution:
		n.executions[domain.ExecutionID(id)] = true
	case prefixTenant:
		n.tenants[domain.TenantID(id)] = true
	default:
		return false
	}
	return true
}
