package store

import (
	"database/sql"
	"errors"
	"slices"

	"signoff/internal/domain"
)

// withRoots adds the roots of new children, so that their heads are locked in the order of all heads. While the head of its root is locked, a tree neither
// grows nor ends nor is deleted.
func (b *batch) withRoots(rows []row) []row {
	own := rows
	for _, c := range b.live {
		parent := c.parent()
		if parent == nil {
			continue
		}
		root := text(string(parent.Root))
		if !slices.ContainsFunc(rows, func(r row) bool { return r.values[0] == root }) { // one row for a head: an update takes any of several
			rows = append(rows, row{noChange, append([]any{root, int64(lockOnlyEpoch), int64(0), int64(0), int64(0), int64(0)}, (*Park)(nil).values()...)})
		}
	}
	if len(rows) > len(own) {
		slices.SortFunc(rows, byID)
	}
	return rows
}

// parent is the parent of a child that the change creates; nil: it creates none.
func (c *Change) parent() *domain.Parent {
	if c.Create == nil {
		return nil
	}
	return c.Create.Execution.Request.Parent
}

// tree is the state of a tree that decides whether it takes one more child.
type tree struct {
	root, tenant string
	closed       bool // the root has ended, or is deleted
	children     int
}

// createChildren writes the rows of children, and refuses children whose tree is full or closed.
func (b *batch) createChildren() error {
	trees, err := b.trees()
	if err != nil {
		return err
	}
	var rows []row
	for i, c := range b.live {
		parent := c.parent()
		if parent == nil {
			continue
		}
		tree := trees[text(string(parent.Root))]
		if why := tree.refusal(&c.Create.Execution); why != nil {
			b.refuse(i, why)
			continue
		}
		tree.children++
		path, err := encode(c.Create.Execution.Path())
		if err != nil {
			return err
		}
		rows = append(rows, row{i, []any{string(c.Execution), tree.tenant, text(string(parent.Execution)), tree.root, text(parent.ToolCallID),
			text(parent.Name), path}})
	}
	if b.again { // the transaction starts anew
		return nil
	}
	return b.insert(`id text, tenant text, parent text, root text, call text, name text, path text`, rows, `
		insert into children (execution_id, tenant_id, parent_id, root_id, tool_call_id, name, path)
		select id, tenant, parent, root, call, name, path from v where true`)
}

// trees reads the trees of new children, by their roots. The heads of the roots are locked.
func (b *batch) trees() (map[string]*tree, error) {
	var rows []row
	trees := map[string]*tree{}
	for i, c := range b.live {
		if parent := c.parent(); parent != nil && trees[text(string(parent.Root))] == nil {
			root := text(string(parent.Root))
			trees[root] = &tree{}
			rows = append(rows, row{i, []any{root}})
		}
	}
	found, err := ask(b, `id text`, rows, func(row scanner) (t tree, err error) {
		return t, row.Scan(&t.root, &t.tenant, &t.closed, &t.children)
	}, `
		select h.execution_id, h.tenant_id, h.ended = 1 or h.deleted_us is not null, (select count(*) from children c where c.root_id = h.execution_id)
		from v join execution_heads h on h.execution_id = v.id`)
	for _, t := range found {
		trees[t.root] = &t
	}
	return trees, err
}

func (t *tree) refusal(child *domain.Execution) error {
	switch {
	case t.root == "" || t.closed || t.tenant != text(string(child.Tenant)):
		return domain.Errorf(domain.CodeExecutionEnded, "The root execution %s has ended, or is gone: it gets no more children.", child.Request.Parent.Root)
	case t.children >= domain.MaxTree:
		return domain.Errorf(domain.CodeTooMany, "There are %d executions below the root %s already: no more can be delegated.", t.children, t.root)
	}
	return nil
}

// restChildren writes the results of children, and the results that parents have taken. Both may change the same row in one transaction, and two
// transactions the same two rows: so all rows are locked first, by id.
func (b *batch) restChildren() error {
	var locks, rests, takes []row
	for i, c := range b.live {
		if c.Rest != nil {
			locks = append(locks, row{i, []any{string(c.Execution)}})
			rests = append(rests, row{i, []any{string(c.Execution)}})
		}
		for child, rest := range c.Taken {
			locks = append(locks, row{i, []any{text(string(child))}})
			takes = append(takes, row{i, []any{text(string(child)), string(c.Execution), int64(rest)}})
		}
	}
	slices.SortStableFunc(locks, byID)
	children, err := b.lockChildren(locks)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for id := range children {
		known[id] = true
	}
	b.settle(rests, known, errNoChild)
	for i, one := range rests {
		id := one.values[0].(string)
		result, err := encode(children[id].next(*b.changes[one.change].Rest))
		if err != nil {
			return err
		}
		rests[i].values = append(one.values, result)
	}
	return errors.Join(
		b.insert(`id text, result text`, rests, `
			update children as c set rests = c.rests + 1, result = v.result from v where c.execution_id = v.id`),
		// A child that is deleted may be gone before its parent has taken its result.
		b.insert(`id text, parent text, rest bigint`, takes, `
			update children as c set taken = v.rest from v where c.execution_id = v.id and c.parent_id = v.parent and c.taken < v.rest`),
	)
}

// lockedChild is the row of a child before it rests again.
type lockedChild struct {
	id           string
	rests, taken int
	last         *domain.DelegateResult
}

// next is a result with the earlier results that the parent has not taken: otherwise the answer to the parent's prompt would be lost if somebody else has
// sent the child another one.
func (c lockedChild) next(result domain.DelegateResult) domain.DelegateResult {
	if c.last == nil || c.rests <= c.taken {
		return result
	}
	return result.After(*c.last, c.rests).Since(c.taken)
}

func (b *batch) lockChildren(rows []row) (map[string]lockedChild, error) {
	found, err := ask(b, `id text`, rows, func(row scanner) (c lockedChild, err error) {
		var result sql.NullString
		if err := row.Scan(&c.id, &c.rests, &c.taken, &result); err != nil {
			return c, err
		}
		c.last, err = optional[domain.DelegateResult]("result", result)
		return c, err
	}, `
		select execution_id, rests, taken, result from children where execution_id in (select id from v) order by execution_id`+b.store.dialect.lock)
	children := make(map[string]lockedChild, len(found))
	for _, c := range found {
		children[c.id] = c
	}
	return children, err
}

var errNoChild = domain.Errorf(domain.CodeInternal, "An execution that nobody has delegated has no result for a parent.")
