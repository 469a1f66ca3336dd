package secrets_test

import (
	"fmt"

	"signoff/internal/secrets"
)

// A masker finds a value also where it is encoded, and keys of known services that nobody has told it.
func ExampleMasker_MaskString() {
	masker := secrets.NewMasker("correct horse battery")
	fmt.Println(masker.MaskString("The password is correct horse battery."))
	fmt.Println(masker.MaskString("GET /?q=correct%20horse%20battery"))
	fmt.Println(masker.MaskString("printf Y29ycmVjdCBob3JzZSBiYXR0ZXJ5 | base64 -d"))
	fmt.Println(masker.MaskString("postgres://me:hunter2hunter2@db/app"))
	// Output:
	// The password is [masked].
	// GET /?q=[masked]
	// printf [masked] | base64 -d
	// postgres://me:[masked]@db/app
}

// A stream holds back only the end of a piece that may be the beginning of a secret.
func ExampleStream() {
	stream := secrets.NewStream(secrets.NewMasker("correct horse battery"))
	for _, piece := range []string{"It is correct", " horse batt", "ery, or not."} {
		fmt.Printf("%q\n", stream.Write(piece))
	}
	fmt.Printf("%q\n", stream.Close())
	// Output:
	// "It is "
	// ""
	// "[masked], or not."
	// ""
}

// Agents and models say the names; the command alone gets the values.
func ExampleVault_Environment() {
	vault, err := secrets.NewVault(secrets.Secret{Name: "github", From: "GITHUB_TOKEN", Variable: "GH_TOKEN", Value: "ghp-of-nobody"})
	if err != nil {
		fmt.Println(err)
		return
	}
	variables, err := vault.Environment([]string{"github"})
	fmt.Println(variables, err)
	_, err = vault.Environment([]string{"gitlab"})
	fmt.Println(err)
	// Output:
	// [GH_TOKEN=ghp-of-nobody] <nil>
	// unknownSecret: There is no secret "gitlab"; there are github.
}
