package llm

import "strings"

// ProviderNames are the names of the table, as an error lists them.
func ProviderNames() string {
	var names []string
	for _, p := range providers {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
