package store

// appendFeed writes a row into the feed of the tenant for each change with events. Its key was taken with the head, which is still locked;
// [Store.Feed] explains why.
func (b *batch) appendFeed() error {
	var rows []row
	for i, c := range b.live {
		if len(c.Events) == 0 {
			continue
		}
		head := b.heads[c.Execution]
		first := head.lastSeq - int64(len(c.Events)) + 1
		rows = append(rows, row{i, []any{string(c.Execution), head.tenant, head.feedKey, first, head.lastSeq}})
	}
	return b.insert(`id text, tenant text, key bigint, first bigint, last bigint`, rows, `
		insert into feed (tenant_id, key, execution_id, first_seq, last_seq)
		select tenant, key, id, first, last from v where true`)
}
