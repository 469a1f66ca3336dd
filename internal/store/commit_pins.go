package store

import (
	"cmp"
	"slices"

	"signoff/internal/domain"
)

func brokenPins(pins []domain.MCPPin) string {
	if slices.ContainsFunc(pins, func(pin domain.MCPPin) bool { return pin.Server == "" || pin.Tool == "" || pin.Hash == "" }) {
		return "it pins no definition of an MCP tool"
	}
	return ""
}

// keepPins writes what people say yes to. A tool keeps the time of its first pin: rules cover it from then on. Rows are locked by key, and of several
// pins for one tool in a batch the last one counts: a statement writes a row only once.
func (b *batch) keepPins() error {
	var rows []row
	for i, c := range b.live {
		for _, pin := range c.Pins {
			by, err := encode(pin.By)
			if err != nil {
				return err
			}
			rows = append(rows, row{i, []any{b.heads[c.Execution].tenant, text(pin.Server), text(pin.Tool), text(pin.Hash),
				optionalText(string(pin.Definition)), pin.First.UnixMicro(), pin.Last.UnixMicro(), by}})
		}
	}
	slices.SortStableFunc(rows, byTool)
	var once []row
	for _, next := range rows {
		if last := len(once) - 1; last >= 0 && byTool(once[last], next) == 0 {
			next.values[5] = min(once[last].values[5].(int64), next.values[5].(int64)) // the first time of all
			once = once[:last]
		}
		once = append(once, next)
	}
	return b.insert(`tenant text, server text, tool text, hash text, definition text, first bigint, last bigint, actor text`, once, `
		insert into mcp_pins as p (tenant_id, server, tool, hash, definition, first_us, last_us, by)
		select tenant, server, tool, hash, definition, first, last, actor from v where true order by tenant, server, tool
		on conflict (tenant_id, server, tool) do update set
			hash = excluded.hash, definition = excluded.definition, last_us = excluded.last_us, by = excluded.by`)
}

func byTool(a, b row) int {
	compare := func(column int) int { return cmp.Compare(a.values[column].(string), b.values[column].(string)) }
	return cmp.Or(compare(0), compare(1), compare(2))
}
