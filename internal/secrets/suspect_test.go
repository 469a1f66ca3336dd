package secrets_test

import (
	"testing"

	"signoff/internal/secrets"
)

func TestSuspect(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "apiKey": true, "GH_TOKEN": true, "client-secret": true, "PGPASSWORD": true, "MYSQL_PASSWD": true,
		"AWS_CREDENTIALS": true, "Proxy-Authorization": true, "SSH_PASSPHRASE": true,
		"": false, "PATH": false, "ANTHROPIC_MODEL": false, "AWS_REGION": false, "X-Trace": false,
	} {
		if got := secrets.Suspect(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
