// Command requests writes, as JSON, the part of the document that requests are checked against. `go generate` runs it in the
// document's folder.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "requests:", err)
		os.Exit(1)
	}
}

func write() error {
	document, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return err
	}
	plain, err := yaml.YAMLToJSON(document)
	if err != nil {
		return err
	}
	requests, err := requestsOf(plain)
	if err != nil {
		return err
	}
	return os.WriteFile("requests.gen.json", requests, 0o600) //nolint:gosec // the name is a constant; what is written comes from the document
}

type object = map[string]any

// requestsOf leaves out the answers, what people read about operations, and the components that no request refers to: of
// two hundred kilobytes, most are about answers and events.
func requestsOf(plain []byte) ([]byte, error) {
	var document object
	if err := json.Unmarshal(plain, &document); err != nil {
		return nil, err
	}
	paths, _ := document["paths"].(object)
	for _, path := range paths {
		operations, _ := path.(object)
		for _, one := range operations {
			if operation, is := one.(object); is {
				for _, about := range []string{"responses", "summary", "description", "tags"} {
					delete(operation, about)
				}
			}
		}
	}
	components, _ := document["components"].(object)
	document["components"] = wanted(components, paths)
	return json.Marshal(document)
}

// wanted is the part of the components that from refers to, by whatever detour. How keys are shown is always wanted.
func wanted(components object, from any) object {
	kept := object{"securitySchemes": components["securitySchemes"]}
	for unread := references(from); len(unread) > 0; unread = unread[1:] {
		kind, name, _ := strings.Cut(strings.TrimPrefix(unread[0], "#/components/"), "/")
		all, _ := components[kind].(object)
		if kept[kind] == nil {
			kept[kind] = object{}
		}
		of, _ := kept[kind].(object)
		if of[name] == nil {
			of[name] = all[name]
			unread = append(unread, references(all[name])...)
		}
	}
	return kept
}

func references(value any) (found []string) {
	switch v := value.(type) {
	case object:
		if to, is := v["$ref"].(string); is {
			found = append(found, to)
		}
		for _, member := range v {
			found = append(found, references(member)...)
		}
	case []any:
		for _, item := range v {
			found = append(found, references(item)...)
		}
	}
	return found
}
