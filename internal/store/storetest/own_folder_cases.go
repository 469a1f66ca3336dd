package storetest

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// createIn creates an execution that works in a folder.
func (w *world) createIn(folder string, of domain.TenantID, own *domain.OwnFolder) domain.Execution {
	w.Helper()
	change := creation(domain.ExecutionID(newID()))
	e := &change.Create.Execution
	e.Tenant, e.Request.WorkingDirectory, e.Request.OwnFolder = of, folder, own
	w.accepted(change)
	return *e
}

func neighbours(w *world) {
	plain := w.createIn("/w/app", tenant, nil)
	same, inside, around := w.createIn("/w/app", tenant, nil), w.createIn("/w/app/sub", tenant, nil), w.createIn("/w", tenant, nil)
	w.createIn("/w/app2", tenant, nil)
	w.createIn("/w/ap", tenant, nil)
	top := w.createIn("/", tenant, nil)
	w.createIn("/w/app", "another", nil)
	w.createIn("", tenant, nil)
	ended := w.createIn("/w/app", tenant, nil)
	w.accepted(ending(ended.ID, 1))
	found := func(of domain.Execution, limit int, want ...domain.Execution) {
		w.Helper()
		var ids []domain.ExecutionID
		for _, e := range want {
			ids = append(ids, e.ID)
		}
		got := ok(w.replicas[1].Neighbours(w.ctx, of, limit))(w)
		slices.Sort(got)
		slices.Sort(ids)
		if diff := cmp.Diff(ids, got); diff != "" {
			w.Errorf("beside %s: %s", of.Request.WorkingDirectory, diff)
		}
	}
	found(plain, 20, same, inside, around, top)
	found(plain, 1, top) // the newest
	found(plain, 2, around, top)
	found(inside, 20, plain, same, around, top)
	found(top, 2, w.createIn("/x", tenant, nil), w.createIn("/x/y", tenant, nil))
	found(domain.Execution{Tenant: tenant}, 20)
	if !ok(w.s.WorksIn(w.ctx, "/w/app"))(w) || !ok(w.s.WorksIn(w.ctx, "/w/app/sub"))(w) || ok(w.s.WorksIn(w.ctx, "/w/app/sub/deeper"))(w) || ok(w.s.WorksIn(w.ctx, "/w/a"))(w) {
		w.Error("who works in a folder is not who works there")
	}
}

func ownFolders(w *world) {
	keeps := w.createIn("/o/1", tenant, &domain.OwnFolder{Mode: domain.WorkspaceNew, Keep: true})
	removes := w.createIn("/o/2", "another", &domain.OwnFolder{Mode: domain.WorkspaceNew})
	ended := w.createIn("/o/3", tenant, &domain.OwnFolder{Mode: domain.WorkspaceNew})
	shared := w.createIn("/w", tenant, nil)
	w.accepted(ending(ended.ID, 1))
	got := ok(w.replicas[1].OwnFolders(w.ctx, []domain.ExecutionID{keeps.ID, removes.ID, ended.ID, shared.ID, domain.ExecutionID(newID())}))(w)
	want := map[domain.ExecutionID]domain.OwnFolderState{keeps.ID: {Keep: true}, removes.ID: {}, ended.ID: {Ended: true}, shared.ID: {Keep: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Error(diff)
	}
	if none := ok(w.s.OwnFolders(w.ctx, nil))(w); len(none) != 0 {
		w.Errorf("of nobody there are %v", none)
	}
}
