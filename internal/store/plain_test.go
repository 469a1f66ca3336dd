package store_test

import (
	"reflect"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// A batch of plain changes is written by one statement that knows nothing of what else a change may bring.
func TestPlain(t *testing.T) {
	if c := says("x", 1, 2); !c.Plain() {
		t.Error("what an agent says is not plain")
	}
	if c := says("x", 0, 2); c.Plain() {
		t.Error("what somebody else says is plain")
	}
	asking := says("x", 1, 2)
	asking.Events[1].Type = domain.ApprovalRequestedType
	if asking.Plain() {
		t.Error("what webhooks are told of is plain")
	}
	for _, status := range domain.Statuses {
		c := says("x", 1, 1)
		c.Update = &store.Update{Status: status}
		if want := status != domain.StatusIdle && !status.Terminal(); c.Plain() != want {
			t.Errorf("to become %s is plain: %v", status, c.Plain())
		}
	}
	allowed := map[string]bool{"Execution": true, "Epoch": true, "Update": true, "Progress": true, "Events": true, "States": true}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[store.Change]()) {
		if field.Anonymous { // its fields come by themselves
			continue
		}
		c := says("x", 1, 1)
		fill(reflect.ValueOf(&c).Elem().FieldByIndex(field.Index))
		if c.Plain() != allowed[field.Name] {
			t.Errorf("with %s it is plain: %v", field.Name, c.Plain())
		}
	}
}

// fill gives a field some value that is not its zero.
func fill(field reflect.Value) {
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int64:
		field.SetInt(1)
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
	default:
		field.SetString("x")
	}
}
