package store

import (
	"slices"

	"signoff/internal/domain"
)

// A change and its linked changes are written together, or none of them is. In a batch they stand side by side as separate changes, so that the heads of
// all are locked in one order.

// flattened puts the linked changes of each change behind it. mains is, for each change, the place of the one that it is linked to; nil if nothing is
// linked.
func flattened(changes []Change) (all []Change, mains []int) {
	if !slices.ContainsFunc(changes, func(c Change) bool { return len(c.Linked) > 0 }) {
		return changes, nil
	}
	for _, c := range changes {
		main := len(all)
		all = append(append(all, c), c.Linked...)
		mains = append(mains, slices.Repeat([]int{main}, 1+len(c.Linked))...)
	}
	return all, mains
}

// linkedWith returns the range of places of the changes that are written together with the one at a place; end is excluded.
func (b *batch) linkedWith(place int) (first, end int) {
	if b.mains == nil {
		return place, place + 1
	}
	first = b.mains[place]
	return first, first + 1 + len(b.changes[first].Linked)
}

// linkedTo is the change that the one at a place is linked to; nil: it is linked to none.
func (b *batch) linkedTo(place int) *Change {
	if b.mains == nil || b.mains[place] == place {
		return nil
	}
	return &b.changes[b.mains[place]]
}

// linkedResults are the results of the newest attempt. Those of linked changes are in the result of their main change.
func (b *batch) linkedResults() []Result {
	if b.mains == nil {
		return b.results
	}
	var results []Result
	for i := 0; i < len(b.results); {
		first, end := b.linkedWith(i)
		result := b.results[first]
		result.Linked = b.results[first+1 : end : end]
		results = append(results, result)
		i = end
	}
	return results
}

// brokenLink finds contents that a change may not have because it is linked, or because it is not.
func (b *batch) brokenLink(place int) string {
	c, main := &b.changes[place], b.linkedTo(place)
	var parent *domain.Parent
	if c.Create != nil {
		parent = c.Create.Execution.Request.Parent
	}
	switch {
	case main == nil && (c.IfLive || c.Quiet):
		return "only a linked one is quiet, or can be left out"
	case main == nil && parent != nil:
		return "it creates a child without its parent"
	case main == nil && len(c.Linked) > 0 && (c.AnswerClient != nil || c.Accept != nil):
		return "it may be repeated, and its linked ones would be written twice"
	case main == nil:
		return ""
	case len(c.Linked) > 0:
		return "it is linked, and has linked ones"
	case c.AnswerClient != nil || c.Accept != nil:
		return "it is linked, and may be repeated"
	case c.Create != nil && (parent == nil || parent.Execution != main.Execution):
		return "it is linked to another than its parent"
	case c.Create != nil && main.Epoch == 0:
		return "it creates a child of an execution that it does not drive"
	case c.Create != nil && c.Create.Limit != nil:
		return "it creates a child under a limit"
	case c.Create == nil && c.Epoch != 0:
		return "it is linked, and drives its execution"
	case (c.IfLive || c.Quiet) && c.Epoch != 0:
		return "it creates an execution, which is neither quiet nor left out"
	case c.IfLive && len(c.Resolve) > 0:
		return "it ends an approval, and can be left out"
	case c.Quiet && (c.Notify || c.Cancel != nil || c.Close != nil || c.Resume != nil || c.Prompt != nil || len(c.Resolve) > 0):
		return "it asks something of the driver, and does not notify it"
	}
	return ""
}

// refuseWithoutHead refuses a change whose head was not taken. A change that may be left out is refused alone.
func (b *batch) refuseWithoutHead(place int) {
	switch c := &b.changes[place]; {
	case c.IfLive:
		b.results[place].Err = errNotDriven
	case b.linkedTo(place) != nil: // its writer still drives its own execution
		b.refuse(place, domain.Errorf(domain.CodeConflict, "The execution %s has ended, or is gone.", c.Execution))
	default:
		b.refuse(place, errNotDriven)
	}
}
