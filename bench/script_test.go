package main

import (
	"strings"
	"testing"
)

func TestOtherWordsAreRefused(t *testing.T) {
	for text, complaint := range map[string]string{
		"":                                  "begins with the word bench",
		"hello bench":                       "begins with the word bench",
		"bench chunk=3":                     `no word "chunk=3"`,
		"bench call=yes":                    `no word "call=yes"`,
		"bench alternate=1":                 `no word "alternate=1"`,
		"bench write=":                      `no word "write="`,
		"bench gate=":                       `no word "gate="`,
		"bench chunks":                      "not a number from 1",
		"bench chunks=0":                    "not a number from 1",
		"bench chunks=many":                 "not a number from 1",
		"bench chunks=10000001":             "to 10000000",
		"bench rate=-1":                     "not a number from 0",
		"bench bytes=19":                    "not a number from 21",
		"bench bytes=1000000000000":         "to 16384",
		"bench chunks=99999999999999999999": "to 10000000",
	} {
		if _, err := parseScript(text); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%q: %v, and not %q", text, err, complaint)
		}
	}
}
