package jinja

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	builtins "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// Values are nil, bool, int, float64, bigNumber, string, []any and map[string]any, as JSON has them, and these:

// undefined is a value that is not there. It may be asked whether it is defined and given a default; everything else
// throws a fault that names it.
type undefined struct {
	path   string
	silent bool // what an if without else gives may be printed, as nothing
}

func (u *undefined) fail() {
	if u.path == "" || strings.HasPrefix(u.path, "\x00") {
		failf("a value is not defined")
	}
	failf("%s is not defined", u.path)
}

// print fails, unless nothing is to be printed.
func (u *undefined) print() {
	if !u.silent {
		u.fail()
	}
}

// bigNumber is a number of the variables that no int and no float64 holds. It is printed as it came.
type bigNumber string

// namespace is what {% set x.y %} may change.
type namespace struct{ fields map[string]any }

// function is one of ours, such as range.
type function struct {
	name      string
	operation *operation
}

// decode reads the variables. Numbers keep their form: 1 stays 1, and 1.0 stays 1.0.
func decode(variables json.RawMessage) map[string]any {
	if len(bytes.TrimSpace(variables)) == 0 {
		return map[string]any{}
	}
	decoder := json.NewDecoder(bytes.NewReader(variables))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		failf("the variables are not JSON")
	}
	values, ok := numbered(decoded).(map[string]any)
	if !ok {
		failf("the variables are not an object")
	}
	return values
}

func numbered(value any) any {
	switch v := value.(type) {
	case json.Number:
		return parseNumber(v.String())
	case []any:
		for i := range v {
			v[i] = numbered(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = numbered(v[key])
		}
	}
	return value
}

func parseNumber(written string) any {
	if !strings.ContainsAny(written, ".eE") {
		if whole, err := strconv.Atoi(written); err == nil {
			return whole
		}
		return bigNumber(written)
	}
	broken, err := strconv.ParseFloat(written, 64)
	if err != nil {
		return bigNumber(written)
	}
	return broken
}

// plain takes a value out of gonja's box.
func plain(value *exec.Value) any {
	if value == nil || value.IsNil() {
		return nil
	}
	return unboxed(value.Interface())
}

func unboxed(value any) any {
	switch v := value.(type) {
	case *exec.Value:
		return plain(v)
	case exec.ValuesList:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	case error:
		failf("the template cannot be run")
	}
	return value
}

// display is how a value is printed.
// keys are in order, because MiniJinja keeps its maps so.
func keys(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }

// writeQuoted is Rust's way of quoting, which has other escapes than Go's.
// title is what kind of value it is, for faults, which never show the value itself.
func title(value any) string {
	switch value.(type) {
	case nil:
		return "none"
	case bool:
		return "true or false"
	case int, float64, bigNumber:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case *namespace:
		return "a namespace"
	case *macro, *function:
		return "a macro"
	default:
		return "a loop"
	}
}

func truth(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	case *undefined:
		v.fail()
	}
	return true
}

// items is a value as a list: the characters of a text, the keys of a map.
func items(value any) []any {
	switch v := value.(type) {
	case []any:
		return v
	case string:
		list := []any{}
		for _, r := range v {
			list = append(list, string(r))
		}
		return list
	case map[string]any:
		list := []any{}
		for _, key := range keys(v) {
			list = append(list, key)
		}
		return list
	case nil:
		return nil
	case *undefined:
		v.fail()
	}
	failf("%s cannot be gone through", title(value))
	return nil
}

// field is what x.key and x[key] give, or undefined. path is how a fault calls it.
func field(value, key any, path string) any {
	found, ok := lookup(value, key)
	if !ok {
		return &undefined{path: path}
	}
	return found
}

func lookup(value, key any) (any, bool) {
	switch v := value.(type) {
	case *undefined:
		v.fail()
	case map[string]any:
		if k, ok := key.(string); ok {
			found, ok := v[k]
			return found, ok
		}
	case *namespace:
		return lookup(v.fields, key)
	case []any:
		return at(v, key)
	case string:
		if _, ok := key.(int); ok {
			return at(items(v), key)
		}
	case *builtins.LoopInfos:
		return loopField(v, key)
	}
	return nil, false
}

func at(list []any, key any) (any, bool) {
	i, ok := key.(int)
	if written, isText := key.(string); isText { // x.0
		parsed, err := strconv.Atoi(written)
		i, ok = parsed, err == nil
	}
	if i < 0 {
		i += len(list)
	}
	if !ok || i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// loopField is loop.index and its like. gonja counts the depth of all loops, MiniJinja that of recursion.
func loopField(loop *builtins.LoopInfos, key any) (any, bool) {
	name, _ := key.(string)
	switch name {
	case "depth":
		return 1, true
	case "depth0":
		return 0, true
	case "index", "index0", "revindex", "revindex0", "first", "last", "length":
		value, _ := loop.GetAttribute(name)
		return plain(value), true
	case "previtem":
		return plain(loop.PrevItem), !loop.PrevItem.IsNil()
	case "nextitem":
		return plain(loop.NextItem), !loop.NextItem.IsNil()
	}
	return nil, false
}

// equal compares by value, and numbers whatever their form.
func equal(a, b any) bool {
	if x, y, ok := floats(a, b); ok {
		return x == y
	}
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a == b
}

// floats are two numbers as such.
func floats(a, b any) (x, y float64, ok bool) {
	x, okX := asFloat(a)
	y, okY := asFloat(b)
	return x, y, okX && okY
}

func asFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// compare orders values of one kind, and kinds among each other.
func compare(a, b any) int {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			return order(x, y)
		}
	}
	if x, y, ok := floats(a, b); ok {
		return order(x, y)
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return slices.CompareFunc(x, y, compare)
		}
	case bool:
		if y, ok := b.(bool); ok {
			return order(rank(x), rank(y))
		}
	}
	return order(rank(a), rank(b))
}

func order[T int | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func rank(value any) int {
	switch v := value.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 2
		}
		return 1
	case int, float64, bigNumber:
		return 3
	case string:
		return 4
	case []any:
		return 5
	default:
		return 6
	}
}
