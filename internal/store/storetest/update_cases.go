package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// neededStatus is the status that a field of an update comes with, and no other.
var neededStatus = map[string]domain.Status{
	"Output": domain.StatusCompleted, "Ended": domain.StatusCompleted, "Cause": domain.StatusInterrupted,
}

// everyFieldOfAnUpdate: a field that a statement leaves out would be lost in silence. Each is written alone and with all others, by the one
// statement of a plain batch and by the steps, and read from the field of an execution that has its name.
func everyFieldOfAnUpdate(w *world) {
	for name, others := range map[string][]store.Change{"one statement": nil, "steps": {{Execution: w.create(), Notify: true}}} {
		var (
			fields [][]string
			batch  []store.Change
		)
		add := func(update store.Update, written ...string) {
			c := store.Change{Execution: w.create(), Epoch: 1, Update: &update}
			if c.Plain() || len(others) > 0 {
				fields, batch = append(fields, written), append(batch, c)
			}
		}
		for _, status := range []domain.Status{domain.StatusInterrupted, domain.StatusCompleted} {
			all := filledUpdate(status)
			var together []string
			for field, value := range reflect.ValueOf(all).Fields() {
				if needed := neededStatus[field.Name]; field.Name == "Accepted" || needed != "" && needed != status {
					continue // Accepted permits the end and is not stored
				}
				together = append(together, field.Name)
				alone := store.Update{Status: neededStatus[field.Name]}
				reflect.ValueOf(&alone).Elem().FieldByIndex(field.Index).Set(value)
				add(alone, field.Name)
			}
			add(all, together...)
		}
		results := ok(w.s.Commit(w.ctx, append(batch, others...)))(w)
		for i, c := range batch {
			w.must(results[i].Err)
			stored := reflect.ValueOf(ok(w.s.Execution(w.ctx, tenant, c.Execution))(w))
			for _, field := range fields[i] {
				want, got := reflect.ValueOf(*c.Update).FieldByName(field), stored.FieldByName(field)
				if !got.IsValid() {
					w.Fatalf("domain.Execution has no field %s, so nobody can read what the update writes", field)
				}
				if want.Kind() == reflect.Pointer && got.Kind() != reflect.Pointer {
					want = want.Elem()
				}
				if diff := cmp.Diff(want.Interface(), got.Interface()); diff != "" {
					w.Errorf("by %s, an update of %v: %s is not read as it was written: %s", name, fields[i], field, diff)
				}
			}
		}
	}
}

// filledUpdate has all fields that an update to this status may have.
func filledUpdate(status domain.Status) store.Update {
	var u store.Update
	fill(reflect.ValueOf(&u).Elem())
	u.Status, u.Cause = status, domain.CauseProvider
	for field, needed := range neededStatus {
		if needed != status {
			reflect.ValueOf(&u).Elem().FieldByName(field).SetZero()
		}
	}
	return u
}

// fill gives each field below value some value that is not its zero.
func fill(value reflect.Value) {
	switch value.Interface().(type) {
	case time.Time:
		value.Set(reflect.ValueOf(time.UnixMicro(1e15).UTC()))
		return
	case json.RawMessage:
		value.SetBytes([]byte(`{"a":1}`))
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			fill(value.Field(i))
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int64:
		value.SetInt(7)
	case reflect.Float64:
		value.SetFloat(7.5)
	case reflect.String:
		value.SetString("x")
	default:
		panic(fmt.Sprintf("storetest: no value for a %s", value.Type()))
	}
}
