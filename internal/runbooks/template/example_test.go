package template_test

import (
	"context"
	"encoding/json"
	"fmt"

	"signoff/internal/domain"
	"signoff/internal/runbooks/template"
)

func ExampleRenderer_Render() {
	renderer := template.NewRenderer()
	variables := json.RawMessage(`{"host": "db-1", "disks": [{"path": "/var", "used": 97}, {"path": "/srv", "used": 40}]}`)
	rendered, err := renderer.Render(context.Background(), domain.DefaultTenant, variables,
		template.Template{Name: "/prompt", Source: "{{ host }}: {% for d in disks if d.used > 90 %}{{ d.path }} is full{% endfor %}"},
		template.Template{Name: "/systemPrompt", Source: "You look after ${host}.", Syntax: template.Dollar})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range rendered {
		fmt.Println(text.Text)
	}
	_, err = renderer.Render(context.Background(), domain.DefaultTenant, variables, template.Template{Name: "/prompt", Source: "On {{ hots }}"})
	fmt.Println(err)
	// Output:
	// db-1: /var is full
	// You look after db-1.
	// invalid: Line 1 of the template: hots is not defined.
}
