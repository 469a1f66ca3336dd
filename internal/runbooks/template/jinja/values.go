package jinja

import (
	"cmp"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Values are nil, bool, int, float64, string and []any, as JSON has them, and these:

// bigNumber is a number of the variables that no int and no float64 holds. It is printed as it came.
type bigNumber string

// safe is a text that the filters safe, e and tojson have marked. It is a text for everything but the test `is safe`.
type safe string

// dict is a map. Its keys are in order, as MiniJinja prints them, and any values.
type dict struct {
	keys, values []any
	open         bool // a key that is not there is printed as nothing
}

// sequence is a list with something special about it.
type sequence struct {
	items    []any
	iterator bool // is printed as <iterator>
	group    bool // of groupby: its two items are also called grouper and list
}

// undefined is a value that is not there. It may be asked whether it is defined and given a default; everything else
// throws a fault that names it.
type undefined struct {
	path   string
	silent bool // of an inline if without else, or of an open dict: it is printed as nothing, and is no fault
}

// namespace is a value that {% set x.y %} may change.
type namespace struct{ scope }

// function is one of ours, such as range.
type function struct {
	name      string
	operation *operation
}

func (u *undefined) fail() {
	switch {
	case u.silent:
	case u.path == "":
		failf("a value is not defined")
	default:
		failf("%s is not defined", u.path)
	}
}

// refuse throws a fault if a value is not defined.
func refuse(value any) {
	if u, ok := value.(*undefined); ok {
		u.fail()
	}
}

// unmarked is a value without the mark of a safe text.
func unmarked(value any) any {
	if s, ok := value.(safe); ok {
		return string(s)
	}
	return value
}

// title names the kind of a value, for faults, which never show the value itself.
func title(value any) string {
	switch value.(type) {
	case *namespace:
		return "a namespace"
	case *macro, *function:
		return "a macro"
	case *loop:
		return "a loop"
	}
	return titles[rank(unmarked(value))]
}

func truth(value any) bool {
	switch v := unmarked(value).(type) {
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
	case *dict:
		return len(v.keys) > 0
	case *undefined:
		v.fail()
		return false
	default:
		list, isList := listed(v)
		return !isList || len(list) > 0
	}
}

// listed is a value that is a list.
func listed(value any) ([]any, bool) {
	switch v := value.(type) {
	case []any:
		return v, true
	case *sequence:
		return v.items, true
	}
	return nil, false
}

// items is a value as a list: the characters of a text, the keys of a map.
func (r *run) items(value any) []any {
	switch v := unmarked(value).(type) {
	case string:
		r.scan(len(v))
		return r.split(v, "", -1)
	case *dict:
		return v.keys
	case nil:
		return nil
	case *undefined:
		v.fail()
		return nil
	default:
		list, isList := listed(v)
		if !isList {
			failf("%s cannot be gone through", title(v))
		}
		return list
	}
}

// newDict is the map of these keys and values, which it takes over; of equal keys the last one counts.
func (r *run) newDict(keys, values []any) *dict {
	r.allocate(dictSize)
	pairs := &ordering{r, &dict{keys: keys, values: values}}
	if !sort.IsSorted(pairs) {
		sort.Stable(pairs)
	}
	last := 0
	for i := 1; i < len(keys); i++ {
		if r.compare(keys[last], keys[i]) != 0 {
			last++
			keys[last] = keys[i]
		}
		values[last] = values[i]
	}
	kept := min(last+1, len(keys))
	pairs.dict.keys, pairs.dict.values = keys[:kept], values[:kept]
	return pairs.dict
}

// ordering sorts a map by its keys, in place.
type ordering struct {
	*run
	dict *dict
}

func (o *ordering) Len() int           { return len(o.dict.keys) }
func (o *ordering) Less(i, j int) bool { return o.compare(o.dict.keys[i], o.dict.keys[j]) < 0 }
func (o *ordering) Swap(i, j int) {
	o.dict.keys[i], o.dict.keys[j] = o.dict.keys[j], o.dict.keys[i]
	o.dict.values[i], o.dict.values[j] = o.dict.values[j], o.dict.values[i]
}

func (d *dict) get(r *run, key any) (any, bool) {
	i, found := sort.Find(len(d.keys), func(i int) int { return r.compare(key, d.keys[i]) })
	if !found {
		return nil, false
	}
	return d.values[i], true
}

func (n *namespace) dict(r *run) *dict {
	r.allocate(textSize * len(n.names))
	keys, values := r.list(len(n.names)), r.list(len(n.names))
	for _, field := range n.names {
		keys, values = append(keys, field.name), append(values, field.value)
	}
	return r.newDict(keys, values)
}

// lookup returns value.key and value[key], if they exist.
func (r *run) lookup(value, key any) (any, bool) {
	r.step(1)
	key = unmarked(key)
	switch v := unmarked(value).(type) {
	case *undefined:
		v.fail()
	case *dict:
		return v.get(r, key)
	case *namespace:
		name, _ := key.(string)
		if found := v.find(r, name); found != nil {
			return found.value, true
		}
	case *loop:
		return v.get(key)
	case string:
		if _, ok := key.(int); ok {
			return at(r.items(v), key)
		}
	case *sequence:
		if v.group && key == "grouper" {
			return v.items[0], true
		}
		if v.group && key == "list" {
			return v.items[1], true
		}
		return at(v.items, key)
	case []any:
		return at(v, key)
	}
	return nil, false
}

func at(list []any, key any) (any, bool) {
	i, ok := key.(int)
	if written, isText := key.(string); isText && len(written) < 20 { // x.0
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

// attribute is a value below another one, by a path such as a.b.0. With commas between several paths it is the list of
// what they lead to.
func (r *run) attribute(value any, path string) any {
	r.scan(len(path))
	if strings.Contains(path, ",") {
		several := r.list(strings.Count(path, ",") + 1)
		for one := range strings.SplitSeq(path, ",") {
			if one = strings.TrimSpace(one); one != "" {
				several = append(several, r.attribute(value, one))
			}
		}
		return several
	}
	for step := range strings.SplitSeq(path, ".") {
		refuse(value)
		found, ok := r.lookup(value, step)
		if !ok {
			found = missing(value, path)
		}
		value = found
	}
	return value
}

// missing is what a value does not have.
func missing(value any, path string) *undefined {
	d, is := value.(*dict)
	return &undefined{path: path, silent: is && d.open}
}

// equal compares by value, and numbers whatever their form; true is 1.
func (r *run) equal(a, b any) bool {
	a, b = asNumber(a), asNumber(b)
	switch a.(type) {
	case *macro, *function, *loop, *namespace:
		return a == b
	}
	return r.compare(a, b) == 0
}

// compare orders values of one kind, and kinds among each other.
func (r *run) compare(a, b any) int {
	a, b = unmarked(a), unmarked(b)
	r.step(1)
	if one := rank(a) - rank(b); one != 0 {
		return one
	}
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y)
		}
	case bool:
		return 0
	}
	switch x := a.(type) {
	case int, bigNumber:
		r.allocate(2 * numberSize)
		m, isWhole := whole(x)
		n, both := whole(b)
		if isWhole && both {
			return m.Cmp(n)
		}
	case string:
		y := b.(string)
		r.scan(min(len(x), len(y)))
		return strings.Compare(x, y)
	case *dict:
		y := b.(*dict)
		return cmp.Or(r.compareLists(x.keys, y.keys), r.compareLists(x.values, y.values))
	}
	if x, isList := listed(a); isList {
		y, _ := listed(b)
		return r.compareLists(x, y)
	}
	x, _ := float(a)
	y, _ := float(b)
	return cmp.Compare(x, y)
}

func (r *run) compareLists(x, y []any) int {
	r.enter()
	defer r.leave()
	return slices.CompareFunc(x, y, r.compare)
}

// float is a number as such.
func float(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case bigNumber:
		f, _ := strconv.ParseFloat(string(v), 64) // beyond all numbers it is infinite
		return f, true
	}
	return 0, false
}

// asNumber is 1 and 0 for true and false.
func asNumber(value any) any {
	switch value {
	case true:
		return 1
	case false:
		return 0
	}
	return unmarked(value)
}

// titles are the kinds in the order of their ranks.
var titles = []string{"a value that is not defined", "none", "true or false", "true or false", "a number", "a text", "a list", "a map"}

// rank is the place of a value's kind among all kinds.
func rank(value any) int {
	switch v := value.(type) {
	case *undefined:
		return 0
	case nil:
		return 1
	case bool:
		if v {
			return 3
		}
		return 2
	case int, float64, bigNumber:
		return 4
	case string:
		return 5
	case []any, *sequence:
		return 6
	case *dict:
		return 7
	default:
		return 8
	}
}

// whole is a number without a fraction.
func whole(value any) (*big.Int, bool) {
	switch v := value.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case bigNumber:
		if len(v) < 50 {
			return new(big.Int).SetString(string(v), 10)
		}
	}
	return nil, false
}
