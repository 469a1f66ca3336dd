package jinja

// arguments are those of one call, as they are written.
type arguments struct {
	values []expression
	named  []namedArgument
}

type namedArgument struct {
	name  string
	value expression
}

// evaluate returns their values in this run.
func (a arguments) evaluate(r *run) (values []any, named []binding) {
	if len(a.values) > 0 {
		values = r.list(len(a.values))
		for _, value := range a.values {
			values = append(values, value(r))
		}
	}
	if len(a.named) > 0 {
		r.allocate(bindingSize * len(a.named))
		named = make([]binding, len(a.named))
		for i, arg := range a.named {
			named[i] = binding{arg.name, arg.value(r)}
		}
	}
	return values, named
}

func (a arguments) apply(r *run, o *operation, name string, in any) any {
	values, named := a.evaluate(r)
	return o.apply(r, name, in, values, named)
}

// call calls a value.
func (a arguments) call(r *run, callee any) any {
	values, named := a.evaluate(r)
	switch callee := callee.(type) {
	case *macro:
		return callee.call(r, values, named)
	case *function:
		return callee.operation.apply(r, callee.name, nil, values, named)
	case *loop:
		return callee.recurse(r, values)
	case *undefined:
		callee.fail()
	}
	failf("%s cannot be called", title(callee))
	return nil
}

// callMethod is value.name(…). A macro or the like that lies in a map comes before a method.
func (a arguments) callMethod(r *run, value any, name string) any {
	values, named := a.evaluate(r)
	refuse(value)
	r.allocate(bindingSize)
	var methods map[string]*operation
	switch v := unmarked(value).(type) {
	case *loop:
		return v.method(r, name, values)
	case *namespace, *dict:
		if found, ok := r.lookup(v, name); ok {
			if callee, isMacro := found.(*macro); isMacro {
				return callee.call(r, values, named)
			}
		}
		if _, isMap := v.(*dict); isMap {
			methods = mapMethods
		}
	case string:
		methods = textMethods
	case []any, *sequence:
		methods = listMethods
	}
	method := methods[name]
	if method == nil {
		failf("%s has no method %s", title(value), name)
	}
	return method.apply(r, name, value, values, named)
}
