package store

import (
	"cmp"
	"slices"
	"strconv"

	"signoff/internal/domain"
)

// namedFiles are the files that the change's prompt names.
func (c *Change) namedFiles() []domain.FileID {
	var parts []domain.PromptPart
	switch {
	case c.Create != nil:
		parts = c.Create.Execution.Request.Parts
	case c.Prompt != nil:
		parts = c.Prompt.Prompt.Parts
	}
	var ids []domain.FileID
	for _, part := range domain.FileParts(parts) {
		if !slices.Contains(ids, part.FileID) {
			ids = append(ids, part.FileID)
		}
	}
	return ids
}

// useFiles binds the files of prompts to their executions. One that is gone, or another tenant's, refuses the change: it was removed between the
// acceptance and here. A server of an older version does not take the execution up any more: it would ask the model without the files. The lock is against
// [Store.RemoveUploads], which would not see this use yet.
func (b *batch) useFiles() error {
	var rows []row
	for i, c := range b.live {
		for _, id := range c.namedFiles() {
			tenant := b.heads[c.Execution].tenant
			rows = append(rows, row{i, []any{fileKey(tenant, id), tenant, string(c.Execution), text(string(id))}})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.values[3].(string), b.values[3].(string)) }) // the order of the locks
	const spec = `target text, tenant text, execution text, file text`
	if err := b.writeRows(spec, rows, domain.Errorf(domain.CodeInvalid, "A file of the prompt is gone; send it again."), `
		select f.tenant_id || '/' || f.id from files f
		where exists (select 1 from v where v.file = f.id and v.tenant = f.tenant_id) order by f.id`+b.store.dialect.lock); err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return b.results[r.change].Err != nil })
	if _, err := b.run(spec, rows, `update files as f set used = 1 from v where f.id = v.file and f.used = 0 returning id`); err != nil {
		return err
	}
	if _, err := b.run(spec, rows, `update execution_heads as h set requires = `+strconv.Itoa(domain.RequiresFiles)+`
		from v where h.execution_id = v.execution and h.requires < `+strconv.Itoa(domain.RequiresFiles)+` returning execution_id`); err != nil {
		return err
	}
	_, err := b.run(spec, rows, `
		insert into execution_files (execution_id, file_id) select execution, file from v where true on conflict do nothing returning file_id`)
	return err
}

// fileKey tells files of several tenants apart: in one batch, the use of a file by its own tenant must not admit another's.
func fileKey(tenant string, id domain.FileID) string { return tenant + "/" + text(string(id)) }
