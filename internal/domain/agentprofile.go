package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// AgentProfile is one version of a named agent. A version never changes.
type AgentProfile struct {
	Tenant     TenantID // empty: the operator's, from the configuration file
	Name       string
	Version    int             // from 1; 0: the operator's, which has no versions
	Definition json.RawMessage // as package api shapes it
	Grants     []string        // scopes of its maker's key that the definition was judged by
	Since      time.Time       // when its first version was made; of a name that was made again, the first since then
	Created    time.Time       // when this version was made
	By         Actor           // who made this version
	Deleted    *time.Time      // since then the profile is hidden, and only its versions can be read
}

// Digest tells definitions apart.
func (p AgentProfile) Digest() string {
	sum := sha256.Sum256(p.Definition)
	return hex.EncodeToString(sum[:])
}

// ProfileName names the version of an agent profile that an execution was created from.
type ProfileName struct {
	Name    string `json:"name"`
	Version int    `json:"version,omitempty"` // 0: the operator's
	Digest  string `json:"digest"`
}
