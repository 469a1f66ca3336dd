package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// childOf is the creation of a child, which waits for room. It is to be linked to a change of its parent.
func (w *world) childOf(parent domain.ExecutionID) store.Change {
	w.Helper()
	return childBelow(ok(w.s.Execution(w.ctx, tenant, parent))(w))
}

func childBelow(above domain.Execution) store.Change {
	id := domain.ExecutionID(newID())
	return store.Change{
		Execution: id, Epoch: 1,
		Create: &store.Creation{Queued: true, Execution: above.Delegated(id, domain.Request{
			Source: domain.Source{Type: domain.SourceInternal, Model: "demo"}, Prompt: "look it up", KeepOpen: true,
			Requires: domain.RequiresDelegation, Parent: above.ParentOf("call", "researcher", false),
		}, now())},
		Events: []domain.Event{event(id, domain.ExecutionCreated{Status: domain.StatusQueued})},
	}
}

// linking is what the driver of an execution says, with other changes.
func linking(id domain.ExecutionID, linked ...store.Change) store.Change {
	c := said(id, 1, 1)
	c.Linked = linked
	return c
}

// ifLive may be left out.
func ifLive(c store.Change) store.Change {
	c.IfLive = true
	return c
}

// delegated creates a child of an execution.
func (w *world) delegated(parent domain.ExecutionID) domain.ExecutionID {
	w.Helper()
	child := w.childOf(parent)
	w.accepted(linking(parent, child))
	return child.Execution
}

func (w *world) children(parent domain.ExecutionID) []domain.Child {
	w.Helper()
	return ok(w.s.Children(w.ctx, parent))(w)
}

// resting ends a turn of a child, under epoch 1.
func resting(child domain.ExecutionID, status domain.Status, text string) store.Change {
	c := said(child, 1, 0)
	if status.Terminal() {
		c = ending(child, 1)
	}
	c.Update = &store.Update{Status: status}
	c.Rest = &domain.DelegateResult{Status: status, Text: text}
	return c
}

func childRoundTrip(w *world) {
	root := w.create()
	first, second := w.childOf(root), w.childOf(root)
	second.Create.Execution.Created = first.Create.Execution.Created.Add(1000)
	days := 1
	first.Create.Execution.Request.RetentionDays = &days
	result := w.commit(linking(root, first, second))
	w.must(result.Err)
	if len(result.Linked) != 2 || result.Linked[0].LastSeq != 1 || result.Linked[1].Tenant != tenant || result.LastSeq != 2 {
		w.Errorf("%+v", result)
	}
	got := ok(w.s.Execution(w.ctx, tenant, first.Execution))(w)
	if diff := cmp.Diff(first.Create.Execution.Request, got.Request); diff != "" {
		w.Error("the request: ", diff)
	}
	grandchild := w.delegated(first.Execution)

	w.accepted(resting(first.Execution, domain.StatusIdle, "once"))
	rest := resting(first.Execution, domain.StatusCompleted, "twice")
	rest.Rest.Structured, rest.Rest.Error = json.RawMessage(`{"a":"<\u0000>"}`), &domain.Failure{Code: domain.CodeToolFailed, Message: "no"}
	w.accepted(rest)
	w.accepted(store.Change{Execution: root, Epoch: 1, Taken: map[domain.ExecutionID]int{first.Execution: 2, second.Execution: 1, grandchild: 1, "gone": 1}})
	w.accepted(store.Change{Execution: root, Epoch: 1, Taken: map[domain.ExecutionID]int{first.Execution: 1}})
	child := domain.Child{Parent: root, Root: root, ToolCallID: "call", Name: "researcher"}
	one, two := child, child
	rest.Rest.Earlier = []domain.EarlierAnswer{{Rest: 1, Text: "once"}} // nobody has taken it before there was another one
	one.Execution, one.Status, one.Rests, one.Taken, one.Result = first.Execution, domain.StatusCompleted, 2, 2, rest.Rest
	two.Execution, two.Status, two.Live, two.Taken = second.Execution, domain.StatusQueued, true, 1
	if diff := cmp.Diff([]domain.Child{one, two}, w.children(root)); diff != "" {
		w.Error("the children: ", diff)
	}
	below := w.children(first.Execution)
	if len(below) != 1 || below[0].Execution != grandchild || below[0].Root != root || below[0].Parent != first.Execution || below[0].Taken != 0 {
		w.Errorf("the grandchild: %+v", below)
	}

	w.accepted(resting(second.Execution, domain.StatusIdle, "done"))
	w.untouched(second.Execution, func() { w.refused(w.commit(resting(root, domain.StatusIdle, "")).Err, domain.CodeInternal) })
	if w.children(root)[1].Live {
		w.Error("an idle child is live")
	}
	w.accepted(prompted(second.Execution, domain.WhenBusyEnqueue, ""))
	if !w.children(root)[1].Live {
		w.Error("a child with a prompt is not live")
	}
}

// linkedTogether: what is linked is written as a whole or not at all, and the others of the batch are.
func linkedTogether(w *world) {
	ended, deleted := w.create(), w.create()
	w.accepted(ending(ended, 1))
	w.must(w.s.Delete(w.ctx, tenant, deleted, record("execution.deleted")))
	root, live := w.create(), w.create()
	used := w.childOf(root)
	used.Execution, used.Create.Execution.ID = live, live
	late := resolved(live, "none", domain.ApprovalApproved, "k")
	stale := linking(root, w.childOf(root), said(live, 0, 1))
	stale.Epoch = 7
	left := ifLive(said(deleted, 0, 1))
	for name, test := range map[string]struct {
		change store.Change
		code   domain.Code
	}{
		"the main one has another epoch":                 {stale, domain.CodeStale},
		"the id of a child is taken":                     {linking(root, w.childOf(root), used), domain.CodeConflict},
		"an approval is not pending":                     {linking(root, w.childOf(root), late), domain.CodeStale},
		"another has ended":                              {linking(root, w.childOf(root), said(ended, 0, 1), said(live, 0, 1)), domain.CodeConflict},
		"another is deleted":                             {linking(root, said(live, 0, 1), said(deleted, 0, 1)), domain.CodeConflict},
		"another has ended, and a third may be left out": {linking(root, left, said(ended, 0, 1), said(live, 0, 1)), domain.CodeConflict},
	} {
		neighbour := w.create()
		w.untouched(root, func() {
			w.untouched(live, func() {
				results, err := w.s.Commit(w.ctx, []store.Change{test.change, said(neighbour, 1, 1)})
				w.must(err)
				if domain.CodeOf(results[0].Err) != test.code || results[1].Err != nil || results[1].LastSeq != 2 {
					w.Errorf("%s: %+v", name, results)
				}
				if slices.ContainsFunc(results[0].Linked, func(r store.Result) bool { return r.Err == nil }) {
					w.Errorf("%s: a linked change says that it was written", name)
				}
			})
		})
	}

	gone := said(domain.ExecutionID(newID()), 0, 1)
	result := w.commit(linking(root, ifLive(gone), ifLive(said(ended, 0, 1)), ifLive(said(live, 0, 2)), left))
	w.must(result.Err)
	for i, written := range []bool{false, false, true, false} {
		if (result.Linked[i].Err == nil) != written {
			w.Errorf("linked change %d: %+v", i, result.Linked[i])
		}
	}
	if told := result.Linked[2]; told.LastSeq != 3 || told.Owner != "one" {
		w.Errorf("%+v", told)
	}
	w.log(root)
	w.log(live)
}

// quietly: what is only for readers neither wakes an execution nor keeps its driver from parking it.
func quietly(w *world) {
	w.heartbeat("one")
	w.heartbeat("two")
	root, parked := w.create(), w.create()
	w.accepted(store.Change{Execution: parked, Epoch: 1, Park: &store.Park{}})
	before := ok(w.s.Head(w.ctx, parked))(w)
	quiet := said(parked, 0, 2)
	quiet.Quiet = true
	w.accepted(linking(root, quiet))
	w.acquire("two")
	before.LastSeq += 2
	if head := ok(w.s.Head(w.ctx, parked))(w); head != before {
		w.Errorf("%+v, want %+v", head, before)
	}
	if n := len(w.log(parked)); n != 3 {
		w.Errorf("%d events", n)
	}
	w.accepted(linking(root, said(parked, 0, 1)))
	w.acquire("two", parked)
}

// fullTree: no batch and no replica puts one child too many below a root, and what is refused leaves nothing.
func fullTree(w *world) {
	root := w.create()
	middle := w.delegated(root)
	for len(w.children(root))+len(w.children(middle)) < domain.MaxTree-3 {
		var children []store.Change
		for range 20 {
			children = append(children, w.childOf(middle))
		}
		w.accepted(linking(middle, children...))
	}
	below := func() int { return ok(w.s.TreeSize(w.ctx, root))(w) }
	if n := below(); n != domain.MaxTree-3 {
		w.Fatalf("%d below the root", n)
	}
	// Two and two at once, in one batch of one replica, or of two.
	changes := []store.Change{linking(root, w.childOf(root), w.childOf(root)), linking(middle, w.childOf(middle), w.childOf(middle))}
	if results := ok(w.s.Commit(w.ctx, changes))(w); results[0].Err == nil == (results[1].Err == nil) {
		w.Errorf("%+v", results)
	}
	if n := below(); n != domain.MaxTree-1 {
		w.Fatalf("%d below the root", n)
	}
	w.log(root)
	changes = []store.Change{linking(root, w.childOf(root)), linking(middle, w.childOf(middle))}
	errs := atOnce(2, func(i int) error {
		results, err := w.replicas[i].Commit(w.ctx, changes[i:i+1])
		if err != nil {
			return err
		}
		return results[0].Err
	})
	if errs[0] == nil == (errs[1] == nil) {
		w.Errorf("%v", errs)
	}
	for _, err := range errs {
		if err != nil {
			w.refused(err, domain.CodeTooMany)
		}
	}
	if n := below(); n != domain.MaxTree {
		w.Fatalf("%d below the root", n)
	}
	other := w.create()
	w.delegated(other)
}

// noChildBelowTheEnd: a root that has ended or is deleted gets no more children, also where they are created in the batch that ends it.
func noChildBelowTheEnd(w *world) {
	for name, over := range map[string]func(root domain.ExecutionID) []store.Change{
		"ended": func(root domain.ExecutionID) []store.Change { w.accepted(ending(root, 1)); return nil },
		"ends":  func(root domain.ExecutionID) []store.Change { return []store.Change{ending(root, 1)} },
		"deleted": func(root domain.ExecutionID) []store.Change {
			w.must(w.s.Delete(w.ctx, tenant, root, record("execution.deleted")))
			return nil
		},
	} {
		root := w.create()
		child := w.delegated(root)
		grandchild := linking(child, w.childOf(child))
		batch := over(root)
		results := ok(w.s.Commit(w.ctx, append(batch, grandchild)))(w)
		if err := results[len(batch)].Err; domain.CodeOf(err) != domain.CodeExecutionEnded {
			w.Errorf("%s: %v", name, err)
		}
		if len(w.children(child)) != 0 {
			w.Errorf("%s: it has a grandchild", name)
		}
	}
}

// crossingLinks: parents that take results and children that hand them over, each with changes of others, do not wait for each other for ever.
func crossingLinks(w *world) {
	const families, rounds = 4, 25
	var roots, children []domain.ExecutionID
	for range families {
		root := w.create()
		roots, children = append(roots, root), append(children, w.delegated(root), w.delegated(root))
	}
	change := func(i, round int) store.Change {
		own := i % families
		others := []int{(own + 1 + round) % families, (own + 2 + round) % families}
		if i < families {
			c := linking(roots[own], said(children[2*others[0]], 0, 1), said(children[2*others[1]+1], 0, 1))
			c.Taken = map[domain.ExecutionID]int{children[2*own]: round, children[2*own+1]: round}
			return c
		}
		c := resting(children[2*own+round%2], domain.StatusIdle, fmt.Sprint(round))
		told := said(roots[own], 0, 1)
		told.Quiet = round%2 == 0
		c.Linked = []store.Change{told, said(roots[others[0]], 0, 1)}
		if others[0] == own {
			c.Linked = c.Linked[:1]
		}
		return c
	}
	for _, errs := range atOnce(2*families, func(i int) (errs []error) {
		for round := range rounds {
			results, err := w.replicas[i%2].Commit(w.ctx, []store.Change{change(i, round)})
			if err == nil {
				err = results[0].Err
			}
			errs = append(errs, err)
		}
		return errs
	}) {
		for _, err := range errs {
			w.must(err)
		}
	}
	for i, root := range roots {
		w.log(root)
		total := 0
		for _, child := range w.children(root) {
			total += child.Rests
			if child.Taken != rounds-1 {
				w.Errorf("taken is %d", child.Taken)
			}
		}
		if total != rounds {
			w.Errorf("the children of root %d have rested %d times", i, total)
		}
	}
}

// treesAreRead: lists show roots, and their trees where they are asked for.
func treesAreRead(w *world) {
	root, lonely := w.create(), w.create()
	elder := w.delegated(root)
	younger := w.childOf(root)
	younger.Create.Execution.Request.RunbookID = "r"
	w.accepted(linking(root, younger))
	grandchild := w.delegated(elder)
	runbook := creation(domain.ExecutionID(newID()))
	runbook.Create.Execution.Request.RunbookID, runbook.Create.Execution.Created = "r", younger.Create.Execution.Created.Add(-1000)
	w.accepted(runbook)
	w.accepted(ending(elder, 1))
	tree := []domain.ExecutionID{root, elder, younger.Execution, grandchild}

	for _, c := range []struct {
		filter store.ExecutionFilter
		want   []domain.ExecutionID
	}{
		{store.ExecutionFilter{}, []domain.ExecutionID{root, lonely, runbook.Execution}},
		{store.ExecutionFilter{All: true}, append([]domain.ExecutionID{lonely, runbook.Execution}, tree...)},
		{store.ExecutionFilter{Root: root}, tree},
		{store.ExecutionFilter{Root: root, Parent: elder}, tree[3:]},
		{store.ExecutionFilter{Parent: root}, tree[1:3]},
		{store.ExecutionFilter{Parent: root, Status: []domain.Status{domain.StatusQueued}}, tree[2:3]},
		{store.ExecutionFilter{Root: lonely}, []domain.ExecutionID{lonely}},
		{store.ExecutionFilter{Root: elder}, nil},
		{store.ExecutionFilter{Root: "none", All: true}, nil},
		{store.ExecutionFilter{Latest: store.LatestOfRunbook}, []domain.ExecutionID{runbook.Execution}},
	} {
		got := ids(ok(w.s.Executions(w.ctx, tenant, c.filter))(w).Items)
		if !slices.Equal(sorted(got), sorted(c.want)) {
			w.Errorf("%+v: %v, want %v", c.filter, got, c.want)
		}
	}
	if page := ok(w.s.Executions(w.ctx, "other", store.ExecutionFilter{Root: root}))(w); len(page.Items) != 0 {
		w.Errorf("another tenant sees %v", ids(page.Items))
	}

	if got := ids(ok(w.s.Tree(w.ctx, tenant, root))(w)); !slices.Equal(got, tree) {
		w.Errorf("the tree is %v, want %v", got, tree)
	}
	for _, no := range []struct {
		tenant domain.TenantID
		root   domain.ExecutionID
	}{{"other", root}, {tenant, elder}, {tenant, "none"}} {
		_, err := w.s.Tree(w.ctx, no.tenant, no.root)
		w.refused(err, domain.CodeNotFound)
	}
	for root, want := range map[domain.ExecutionID]int{root: 3, lonely: 0, elder: 0} {
		if n := ok(w.s.TreeSize(w.ctx, root))(w); n != want {
			w.Errorf("%d below %s, want %d", n, root, want)
		}
	}
}

// endOfATree: children that work when their root ends are ended after it, and their last event is that of the tree.
func endOfATree(w *world) {
	root := w.create()
	child := w.delegated(root)
	other := w.create()
	wantEnd := func(id domain.ExecutionID, whole bool) {
		w.Helper()
		end, ended, err := w.s.EndOfTree(w.ctx, id)
		w.must(err)
		all := w.mergedOf(id, store.FeedCursor{})
		if last := all[len(all)-1].Cursor; ended != whole || end != last {
			w.Errorf("the tree ends at %v (%v), and its last event is at %v", end, ended, last)
		}
		if left := w.mergedOf(id, end); len(left) != 0 {
			w.Errorf("behind its end are %v", places(left))
		}
	}
	wantEnd(root, false)
	w.accepted(ending(root, 1))
	w.accepted(said(other, 1, 1))
	wantEnd(root, false)
	w.accepted(ending(child, 1))
	w.accepted(said(other, 1, 1))
	wantEnd(root, true)
	wantEnd(other, false)
	w.wantPlaces(w.mergedOf(other, store.FeedCursor{}), place(other, 1), place(other, 2), place(other, 3))
	if got := ok(w.s.FeedOfTree(w.ctx, "another", root, store.FeedCursor{}, 10, 1<<20))(w); len(got.Events) != 0 {
		w.Errorf("another tenant reads %v", places(got.Events))
	}
}

// auditOfATree has what was done by a root and below it, also when nothing else is left of them.
func auditOfATree(w *world) {
	root := w.create()
	child := ok(w.s.Execution(w.ctx, tenant, w.delegated(root)))(w)
	other := w.create()
	for _, id := range []domain.ExecutionID{root, other} {
		w.accepted(store.Change{Execution: id, Epoch: 1, Audit: []domain.AuditRecord{record("a")}})
	}
	w.accepted(store.Change{Execution: child.ID, Epoch: 1, Audit: []domain.AuditRecord{record("b").InTree(child)}})
	w.must(w.s.Delete(w.ctx, tenant, root, record("execution.deleted").InTree(domain.Execution{ID: root})))
	var of []domain.ExecutionID
	for _, entry := range ok(w.s.Audit(w.ctx, tenant, store.AuditFilter{Root: root}))(w) {
		of = append(of, entry.Execution)
		if !entry.Agrees() {
			w.Errorf("%+v", entry)
		}
	}
	if diff := cmp.Diff([]domain.ExecutionID{root, child.ID, root}, of); diff != "" {
		w.Error(diff)
	}
}

func ids(executions []domain.Execution) (all []domain.ExecutionID) {
	for _, e := range executions {
		all = append(all, e.ID)
	}
	return all
}

// approvalsOfATree: who decides sees who was asked for what, from the root on, and may look at one tree alone.
func approvalsOfATree(w *world) {
	root, other := w.create(), w.create()
	child := w.delegated(root)
	grandchild := w.delegated(child)
	asked := map[domain.ExecutionID]domain.ApprovalID{}
	for _, id := range []domain.ExecutionID{root, child, grandchild, other} {
		asked[id] = w.asked(id, 0)
	}
	step := domain.PathStep{Execution: root, Name: "demo", Asked: "hello"}
	one := domain.PathStep{Execution: child, Name: "researcher", Asked: "look it up"}
	two := domain.PathStep{Execution: grandchild, Name: "researcher", Asked: "look it up"}
	for id, want := range map[domain.ExecutionID][]domain.PathStep{
		root: nil, other: nil, child: {step, one}, grandchild: {step, one, two},
	} {
		a := ok(w.s.Approval(w.ctx, tenant, asked[id]))(w)
		wantRoot := root
		if want == nil {
			wantRoot = ""
		}
		if diff := cmp.Diff(want, a.Path); diff != "" || a.Root != wantRoot {
			w.Errorf("the root is %q; the path: %s", a.Root, diff)
		}
	}
	for root, want := range map[domain.ExecutionID][]domain.ApprovalID{
		root: {asked[root], asked[child], asked[grandchild]}, other: {asked[other]}, child: {asked[child]},
	} {
		var got []domain.ApprovalID
		for _, a := range ok(w.s.Approvals(w.ctx, tenant, store.ApprovalFilter{Root: root}))(w).Items {
			got = append(got, a.ID)
		}
		if !slices.Equal(sorted(got), sorted(want)) {
			w.Errorf("%v have asked, want %v", got, want)
		}
	}
}

// treesAreDeleted: a root takes all executions below it along, whatever they do, and goes after them.
func treesAreDeleted(w *world) {
	w.heartbeat("one")
	root := w.create()
	driven, idle, ended := w.delegated(root), w.delegated(root), w.delegated(root)
	grandchild := w.delegated(driven)
	a := w.asked(driven, 0)
	w.accepted(resting(idle, domain.StatusIdle, "x"))
	w.accepted(resting(ended, domain.StatusCompleted, "x"))
	other := w.create()
	neighbour := w.delegated(other)
	tree := []domain.ExecutionID{driven, idle, ended, grandchild, root}

	for _, child := range tree[:4] {
		w.untouched(child, func() {
			w.unaudited(func() {
				err := w.s.Delete(w.ctx, tenant, child, record("execution.deleted"))
				if w.refused(err, domain.CodeConflict); !strings.Contains(err.Error(), string(root)) {
					w.Errorf("%v does not name the root", err)
				}
			})
			w.refused(w.s.Delete(w.ctx, "other", child, record("execution.deleted")), domain.CodeNotFound)
		})
	}
	bells := w.heads(tree)
	audited := w.auditedSoFar()
	by := record("execution.deleted")
	by.Actor = &domain.Actor{KeyID: "me"}
	w.untouched(neighbour, func() { w.must(w.s.Delete(w.ctx, tenant, root, by)) })
	if n := w.auditedSoFar() - audited; n != 1 {
		w.Errorf("%d records", n)
	}
	for _, id := range tree {
		_, err := w.s.Execution(w.ctx, tenant, id)
		w.refused(err, domain.CodeNotFound)
		head := ok(w.s.Head(w.ctx, id))(w)
		if !head.Deleted || head.ForeignWrites == bells[id].ForeignWrites {
			w.Errorf("%+v", head)
		}
		if wish := w.controlRequests(id).Cancel; id != ended && (wish == nil || wish.By != *by.Actor) {
			w.Errorf("the wish to cancel is %+v", wish)
		}
	}
	_, err := w.s.Approval(w.ctx, tenant, a)
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.Tree(w.ctx, tenant, root)
	w.refused(err, domain.CodeNotFound)
	if page := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{All: true}))(w); len(page.Items) != 2 {
		w.Errorf("%v are in the list", ids(page.Items))
	}
	below := ok(w.s.Below(w.ctx, root))(w)
	if !slices.Equal(below, sorted(tree[:4])) {
		w.Errorf("%v is below", below)
	}
	w.unaudited(func() {
		for _, id := range tree {
			w.must(w.s.Delete(w.ctx, tenant, id, by)) // again
		}
	})
	w.heartbeat("two")
	w.acquire("two", driven, idle, grandchild) // nobody drives them, and somebody has to end them

	w.accepted(ending(root, 1))
	w.leftToRemove(map[domain.ExecutionID]bool{driven: false, idle: false, ended: true, grandchild: false})
	for _, id := range []domain.ExecutionID{driven, idle, grandchild} {
		if done := ok(w.s.Remove(w.ctx, root))(w); done != store.RemovalNone {
			w.Errorf("the root is removed before %s: %v", id, done)
		}
		end := ending(id, 2)
		if id == driven {
			end.Resolve = []store.Resolution{{Approval: a, Status: domain.ApprovalCancelled}}
		}
		w.accepted(end)
		w.removed(id)
	}
	w.removed(ended)
	w.leftToRemove(map[domain.ExecutionID]bool{root: true})
	w.untouched(neighbour, func() { w.removed(root) })
	if n := ok(w.s.TreeSize(w.ctx, root))(w); n != 0 {
		w.Errorf("%d are left below", n)
	}
}

// leftToRemove fails the test where others are deleted, or have ended.
func (w *world) leftToRemove(want map[domain.ExecutionID]bool) {
	w.Helper()
	got := map[domain.ExecutionID]bool{}
	for _, d := range ok(w.s.Deleted(w.ctx, 100))(w) {
		got[d.Execution] = d.Ended
	}
	if !maps.Equal(got, want) {
		w.Errorf("%v is deleted, want %v", got, want)
	}
}

// treesAreKept: only roots expire, whatever a child says.
func treesAreKept(w *world) {
	days := 1
	long := now().Add(-50 * time.Hour)
	root := w.create()
	c := w.childOf(root)
	c.Create.Execution.Request.RetentionDays = &days
	w.accepted(linking(root, c))
	for _, id := range []domain.ExecutionID{c.Execution, w.delegated(root)} {
		end := ending(id, 1)
		end.Update.Ended = &long
		w.accepted(end)
	}
	w.expired(time.Hour, 10)
	end := ending(root, 1)
	end.Update.Ended = &long
	w.accepted(end)
	w.expired(time.Hour, 10, root)
}

// deletedWhileGrowing: ids do not tell who is above whom, because they are made by the clocks of several replicas.
func deletedWhileGrowing(w *world) {
	for round := range 12 {
		id := domain.ExecutionID(fmt.Sprint("z-", newID())) // behind its children
		if round%2 == 0 {
			id = domain.ExecutionID(fmt.Sprint("0-", newID())) // before them
		}
		c := creation(id)
		w.accepted(c)
		middle := w.delegated(id)
		changes := []store.Change{linking(id, w.childOf(id)), linking(middle, w.childOf(middle), said(id, 0, 1)), linking(id, w.childOf(id)), linking(middle, w.childOf(middle))}
		errs := atOnce(len(changes)+2, func(i int) error {
			if i >= len(changes) {
				return w.replicas[i%2].Delete(w.ctx, tenant, id, record("execution.deleted"))
			}
			results, err := w.replicas[i%2].Commit(w.ctx, changes[i:i+1])
			if err == nil && results[0].Err != nil && domain.CodeOf(results[0].Err) != domain.CodeExecutionEnded && domain.CodeOf(results[0].Err) != domain.CodeConflict {
				err = results[0].Err
			}
			return err
		})
		for _, err := range errs {
			w.must(err)
		}
		for _, below := range ok(w.s.Below(w.ctx, id))(w) {
			if head := ok(w.s.Head(w.ctx, below))(w); !head.Deleted {
				w.Errorf("round %d: %+v has lost its root", round, head)
			}
		}
	}
}
