package domain

import (
	"reflect"
	"strings"
	"testing"
)

// TestEachModelSettingIsNamedAndFilledIn: a field that was forgotten would never be checked, or lost where an entry has it.
func TestEachModelSettingIsNamedAndFilledIn(t *testing.T) {
	var names []string
	for field := range reflect.TypeFor[ModelSettings]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
		var one ModelSettings
		value := reflect.ValueOf(&one).Elem().FieldByIndex(field.Index)
		switch value.Kind() {
		case reflect.Pointer:
			value.Set(reflect.New(field.Type.Elem()))
		case reflect.String:
			value.SetString("x")
		default:
			value.SetInt(1)
		}
		if got := one.Names(); !reflect.DeepEqual(got, []string{name}) {
			t.Errorf("%s alone is named %v", name, got)
		}
		if (ModelSettings{}).Over(one) != one || one.Over(ModelSettings{}) != one {
			t.Errorf("%s is lost", name)
		}
	}
	if !reflect.DeepEqual(names, SettingNames) {
		t.Errorf("the settings are %v, named %v", names, SettingNames)
	}
}
