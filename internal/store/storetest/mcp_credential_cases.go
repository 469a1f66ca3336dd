package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"signoff/internal/domain"
)

func credential(server string, sealed string) domain.MCPCredential {
	return domain.MCPCredential{
		MCPCredentialKey: domain.MCPCredentialKey{
			Tenant: tenant, Server: server, Issuer: "https://login.example", Resource: "https://tools.example/mcp", ClientID: "client",
		},
		Sealed: []byte(sealed),
	}
}

func (w *world) signIn(c domain.MCPCredential) {
	w.Helper()
	w.must(w.s.SaveMCPCredential(w.ctx, c, record("mcp.signedIn")))
}

// signedIn reads the only sign-in at a server.
func (w *world) signedIn(server string) domain.MCPCredential {
	w.Helper()
	all := ok(w.s.MCPCredentialsOf(w.ctx, tenant, server))(w)
	if len(all) != 1 {
		w.Fatalf("%d sign-ins at %s", len(all), server)
	}
	return all[0]
}

func credentialRoundTrip(w *world) {
	if none := ok(w.s.MCPCredentialsOf(w.ctx, tenant, "a"))(w); len(none) != 0 {
		w.Fatal(none)
	}
	before := ok(w.s.Now(w.ctx))(w)
	a, b, foreign := credential("a", "\x00\xffa"), credential("b", "b"), credential("a", "foreign")
	foreign.Tenant = "other"
	for _, c := range []domain.MCPCredential{b, a, foreign} {
		w.signIn(c)
	}
	got := ok(w.s.MCPCredentials(w.ctx, tenant))(w)
	if diff := cmp.Diff([]domain.MCPCredential{a, b}, got, cmpopts.IgnoreFields(domain.MCPCredential{}, "Updated")); diff != "" {
		w.Error(diff)
	}
	if got[0].Updated.Before(before) || got[0].Updated.After(ok(w.s.Now(w.ctx))(w)) {
		w.Errorf("updated at %s", got[0].Updated)
	}

	// A sign-in at another authorization server replaces the former one, and so does the same one anew.
	moved := a
	moved.Issuer, moved.ClientID, moved.Sealed = "https://new.example", "other", []byte("moved")
	for _, sealed := range []string{"moved", "again"} {
		moved.Sealed = []byte(sealed)
		w.signIn(moved)
		if diff := cmp.Diff(moved, w.signedIn("a"), cmpopts.IgnoreFields(domain.MCPCredential{}, "Updated")); diff != "" {
			w.Error(diff)
		}
	}
	w.must(w.s.DeleteMCPCredentials(w.ctx, tenant, "a", record("mcp.signedOut")))
	if n := len(w.chain(tenant)); n != 5 {
		w.Errorf("%d entries of the audit for 4 sign-ins and 1 end", n)
	}
	w.unaudited(func() {
		w.refused(w.s.DeleteMCPCredentials(w.ctx, tenant, "a", record("mcp.signedOut")), domain.CodeNotFound)
	})
	if len(ok(w.s.MCPCredentials(w.ctx, tenant))(w)) != 1 || len(ok(w.s.MCPCredentials(w.ctx, "other"))(w)) != 1 {
		w.Error("others were deleted, too")
	}
}

// credentialClaims: one at a time refreshes what it has read, and a claim does not outlive its time.
func credentialClaims(w *world) {
	w.signIn(credential("a", "1"))
	read := w.signedIn("a")
	claim := func(who string, c domain.MCPCredential, ttl time.Duration, want bool) {
		w.Helper()
		if got := ok(w.s.ClaimMCPCredential(w.ctx, c, who, ttl))(w); got != want {
			w.Errorf("%s claims: %v", who, got)
		}
	}
	late := read
	late.Sealed = []byte("0")
	claim("one", late, time.Hour, false)
	claim("one", read, time.Hour, true)
	claim("two", read, time.Hour, false)
	claim("one", read, time.Hour, true) // it may not know that it has it: the connection was lost
	w.must(w.s.ReleaseMCPCredential(w.ctx, read, "two"))
	claim("two", read, time.Hour, false)
	w.must(w.s.ReleaseMCPCredential(w.ctx, read, "one"))
	claim("two", read, 0, true) // and it is over
	claim("one", read, time.Hour, true)

	for range 2 { // may be repeated
		if !ok(w.s.RenewMCPCredential(w.ctx, read, []byte("2")))(w) {
			w.Error("tokens were not renewed")
		}
	}
	if ok(w.s.RenewMCPCredential(w.ctx, read, []byte("3")))(w) {
		w.Error("newer tokens were overwritten")
	}
	newer := w.signedIn("a")
	if string(newer.Sealed) != "2" {
		w.Errorf("stored is %q", newer.Sealed)
	}
	claim("one", read, time.Hour, false)
	claim("two", newer, time.Hour, true) // a renewal ends the claim

	w.must(w.s.RefuseMCPCredential(w.ctx, newer, "one"))
	if w.signedIn("a").Refused != nil {
		w.Error("it was refused without the claim")
	}
	w.must(w.s.RefuseMCPCredential(w.ctx, newer, "two"))
	if w.signedIn("a").Refused == nil {
		w.Error("it was not refused")
	}
	claim("two", newer, time.Hour, false)
	// The tokens of the first one, which came too late for its claim, are good.
	if !ok(w.s.RenewMCPCredential(w.ctx, newer, []byte("late")))(w) || w.signedIn("a").Refused != nil {
		w.Error("late tokens were not taken")
	}

	newest := w.signedIn("a")
	claim("one", newest, time.Hour, true)
	w.signIn(credential("a", "login"))
	claim("two", w.signedIn("a"), time.Hour, true) // a sign-in ends the claim
	if ok(w.s.RenewMCPCredential(w.ctx, newest, []byte("4")))(w) {
		w.Error("a sign-in was overwritten by tokens from before it")
	}
	w.must(w.s.RefuseMCPCredential(w.ctx, newest, "one"))
	if w.signedIn("a").Refused != nil {
		w.Error("a new sign-in was refused")
	}
}

// credentialClaimedOnce: of many who have read the same tokens one refreshes them.
func credentialClaimedOnce(w *world) {
	w.signIn(credential("a", "0"))
	for n := 1; n <= 5; n++ {
		read := w.signedIn("a")
		got := atOnce(8, func(i int) bool {
			claimed, err := w.replicas[i%2].ClaimMCPCredential(w.ctx, read, fmt.Sprint(i), time.Hour)
			if err != nil {
				w.Error(err)
			}
			return claimed
		})
		if claims := count(got, func(claimed bool) bool { return claimed }); claims != 1 {
			w.Errorf("%d claimed", claims)
		}
		if !ok(w.s.RenewMCPCredential(w.ctx, read, fmt.Append(nil, n)))(w) {
			w.Error("tokens were not renewed")
		}
	}
}
