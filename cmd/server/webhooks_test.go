package main

import (
	"slices"
	"strings"
	"testing"
)

func TestWebhooksOfTheFile(t *testing.T) {
	read, err := written(t, `
models: {demo: {provider: demo}}
webhooks: {allowHosts: ["127.0.0.1:9000", hooks.internal], publicUrl: "https://signoff.example:8443/"}
`).readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	targets, err := read.openTargets()
	hosts, hostErr := read.publicHost()
	if err != nil || hostErr != nil || len(targets.AllowHosts) != 2 || !slices.Equal(hosts, []string{"signoff.example:8443"}) {
		t.Errorf("%+v, %v, %v, %v", targets, err, hosts, hostErr)
	}
}

func TestWebhooksThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{allowHosts: ["*"]}`:                                 "webhooks.allowHosts.0",
		`{allowHosts: ["http://x"]}`:                          "webhooks.allowHosts.0",
		`{publicUrl: signoff.example}`:                        "webhooks.publicUrl",
		`{publicUrl: "ftp://signoff.example"}`:                "webhooks.publicUrl",
		`{publicUrl: "https://signoff.example/below"}`:        "webhooks.publicUrl",
		`{publicUrl: "https://signoff.example/?a"}`:           "webhooks.publicUrl",
		`{publicUrl: "https://me:password@signoff.example/"}`: "webhooks.publicUrl",
		`{allowHost: []}`:                                     "allowHost",
	} {
		read, err := written(t, "models: {demo: {provider: demo}}\nwebhooks: "+text+"\n").readConfigFile()
		if err == nil {
			_, err = read.openTargets()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "me:password") {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}
