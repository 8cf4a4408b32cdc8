// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import "strings"

func (m *machine) objectOp(op byte) error {
	switch op {
	case 'c', 0x93:
		return m.global(op)
	case 'R':
		callee, args, err := m.pop2()
		if err != nil {
			return err
		}
		v, err := m.reduce(callee, args)
		if err != nil {
			return err
		}
		return m.push(v)
	case 'i', 'o':
		return m.oldInstance(op)
	case 0x81, 0x92:
		return m.newObject(op)
	default:
		return m.build()
	}
}

func (m *machine) global(op byte) error {
	var g Global
	if op == 'c' {
		var err error
		if g, err = m.globalLines(); err != nil {
			return err
		}
	} else {
		module, name, err := m.pop2()
		if err != nil {
			return err
		}
		var ok1, ok2 bool
		g.Module, ok1 = module.(string)
		g.Name, ok2 = name.(string)
		if !ok1 || !ok2 {
			return m.damaged("a name is made of %s and %s", Kind(module), Kind(name))
		}
	}
	g = normal(g)
	if err := m.allow(g); err != nil {
		return err
	}
	return m.push(g)
}

func (m *machine) globalLines() (g Global, err error) {
	module, err := m.line()
	if err != nil {
		return g, err
	}
	name, err := m.line()
	if err != nil {
		return g, err
	}
	return Global{Module: string(module), Name: string(name)}, nil
}

func (m *machine) allow(g Global) error {
	if ok, reason := named(g); !ok {
		return m.refuse(g.String(), reason)
	}
	return nil
}

// oldInstance is INST and OBJ: an instance of one of Python 2's old-style classes.
func (m *machine) oldInstance(op byte) error {
	var class any
	var args []any
	if op == 'i' {
		g, err := m.globalLines()
		if err != nil {
			return err
		}
		g = normal(g)
		if err := m.allow(g); err != nil {
			return err
		}
		class = g
		if args, err = m.popMark(); err != nil {
			return err
		}
	} else {
		items, err := m.popMark()
		if err != nil {
			return err
		}
		if len(items) == 0 {
			return m.damaged("an instance without a class")
		}
		class, args = items[0], items[1:]
	}
	return m.instanceOf(class, append(Tuple(nil), args...))
}

// newObject is NEWOBJ and NEWOBJ_EX.
func (m *machine) newObject(op byte) error {
	if op == 0x92 {
		kwargs, err := m.pop()
		if err != nil {
			return err
		}
		if _, ok := kwargs.(*Dict); !ok {
			return m.damaged("keyword arguments are %s", Kind(kwargs))
		}
	}
	class, args, err := m.pop2()
	if err != nil {
		return err
	}
	t, ok := args.(Tuple)
	if !ok {
		return m.damaged("arguments are %s, not a tuple", Kind(args))
	}
	return m.instanceOf(class, t)
}

func (m *machine) instanceOf(class any, args Tuple) error {
	g, ok := class.(Global)
	if !ok {
		return m.damaged("the class of an instance is %s", Kind(class))
	}
	v, err := m.construct(g, args)
	if err != nil {
		return err
	}
	return m.push(v)
}

// construct makes an instance of g: a plain container where g is one, else an Object.
func (m *machine) construct(g Global, args Tuple) (any, error) {
	if err := m.charge(costObject); err != nil {
		return nil, err
	}
	switch g {
	case Global{"collections", "OrderedDict"}, Global{"collections", "defaultdict"}, Global{"collections", "Counter"}, Global{"builtins", "dict"}:
		return m.dictFrom(g, args)
	case Global{"builtins", "set"}, Global{"builtins", "frozenset"}, Global{"builtins", "list"}, Global{"builtins", "tuple"}, Global{"collections", "deque"}:
		return m.sequenceFrom(g, args)
	}
	if !instance(g) {
		return nil, m.refuse(g.String(), "a model file may not make an instance of it")
	}
	return &Object{Class: g, Args: args}, nil
}

func (m *machine) dictFrom(g Global, args Tuple) (any, error) {
	if g.Name == "defaultdict" && len(args) > 0 {
		args = args[1:] // the factory is only a name
	}
	d := &Dict{}
	if len(args) == 0 || args[0] == nil {
		return d, nil
	}
	if from, ok := args[0].(*Dict); ok {
		if err := m.charge(int64(from.Len()) * costEntry); err != nil {
			return nil, err
		}
		d.Keys, d.Values = append(d.Keys, from.Keys...), append(d.Values, from.Values...)
		return d, nil
	}
	pairs, ok := m.plainItems(args[0])
	if !ok {
		return nil, m.damaged("a dict is made from %s", Kind(args[0]))
	}
	if err := m.charge(int64(len(pairs)) * costEntry); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		kv, ok := m.plainItems(p)
		if !ok || len(kv) != 2 {
			return nil, m.damaged("a dict's entry is %s, not a pair", Kind(p))
		}
		d.set(kv[0], kv[1])
	}
	return d, nil
}

func (m *machine) sequenceFrom(g Global, args Tuple) (any, error) {
	var items []any
	if len(args) > 0 {
		from, ok := m.plainItems(args[0])
		if !ok {
			return nil, m.damaged("a %s is made from %s", g.Name, Kind(args[0]))
		}
		if err := m.charge(int64(len(from)) * costSlot); err != nil {
			return nil, err
		}
		items = append(items, from...)
	}
	switch g.Name {
	case "list", "deque":
		return &List{Items: items}, nil
	case "tuple":
		return Tuple(items), nil
	default:
		return &Set{Items: items}, nil
	}
}

// plainItems are the items of a container that costs nothing to walk.
func (m *machine) plainItems(v any) ([]any, bool) {
	switch s := v.(type) {
	case *List:
		return s.Items, true
	case Tuple:
		return s, true
	case *Set:
		return s.Items, true
	}
	return nil, false
}

// reduce is REDUCE: what the file would have called, with the arguments. The known ones are built here; nothing is called.
func (m *machine) reduce(callee, args any) (any, error) {
	g, ok := callee.(Global)
	if !ok {
		return nil, m.damaged("the file calls %s", Kind(callee))
	}
	t, ok := args.(Tuple)
	if !ok {
		return nil, m.damaged("arguments are %s, not a tuple", Kind(args))
	}
	if v, ok, err := m.reduceNumPy(g, t); ok || err != nil {
		return v, err
	}
	switch g {
	case Global{"copyreg", "_reconstructor"}:
		return m.reconstructor(t)
	case Global{"copyreg", "__newobj__"}:
		if len(t) > 0 {
			if class, ok := t[0].(Global); ok {
				return m.construct(class, t[1:])
			}
		}
		return nil, m.damaged("an instance without a class")
	case Global{"_codecs", "encode"}:
		return m.encode(t)
	case Global{"builtins", "bytearray"}, Global{"builtins", "bytes"}:
		return m.bytesFrom(t)
	case Global{"builtins", "getattr"}:
		return m.boundMethod(t)
	case Global{"builtins", "complex"}, Global{"builtins", "range"}, Global{"builtins", "slice"}, Global{"builtins", "object"},
		Global{"builtins", "dict"}, Global{"builtins", "set"}, Global{"builtins", "frozenset"}, Global{"builtins", "list"}, Global{"builtins", "tuple"},
		Global{"collections", "OrderedDict"}, Global{"collections", "defaultdict"}, Global{"collections", "Counter"}, Global{"collections", "deque"}:
		return m.construct(g, t)
	}
	if !constructor(g) {
		return nil, m.refuse(g.String(), "the file asks to call it, which a model file may not")
	}
	return m.opaque(g, t)
}

// opaque makes the Object of a constructor that keeps the class among its arguments, as extension types do.
func (m *machine) opaque(g Global, args Tuple) (any, error) {
	if err := m.charge(costObject); err != nil {
		return nil, err
	}
	factory := g.Name == "newObj" || g.Name == "_new_Index" || strings.HasPrefix(g.Name, "__pyx_unpickle_") || strings.HasPrefix(g.Name, "_new_")
	if !factory || len(args) == 0 {
		return &Object{Class: g, Args: args}, nil
	}
	class, ok := args[0].(Global)
	if !ok {
		return nil, m.damaged("%s makes an instance of %s", g, Kind(args[0]))
	}
	if !instance(class) {
		return nil, m.refuse(class.String(), "a model file may not make an instance of it")
	}
	o := &Object{Class: class, Args: args[1:]}
	if strings.HasPrefix(g.Name, "__pyx_unpickle_") && len(args) >= 3 {
		o.State = args[2] // class, checksum, state: a later BUILD replaces it
	}
	return o, nil
}

// reconstructor is Python 2's way to make an instance: class, base class, base state.
func (m *machine) reconstructor(args Tuple) (any, error) {
	if len(args) != 3 {
		return nil, m.damaged("an instance is made from %d values, not 3", len(args))
	}
	class, ok := args[0].(Global)
	if !ok {
		return nil, m.damaged("the class of an instance is %s", Kind(args[0]))
	}
	v, err := m.construct(class, nil)
	if err != nil {
		return nil, err
	}
	if o, ok := v.(*Object); ok {
		switch base := args[2].(type) {
		case *Dict:
			o.Dict = base
		case *List:
			o.List = base
		case nil:
		default:
			o.Args = Tuple{base}
		}
	}
	return v, nil
}

// encode is how protocols below 3 write bytes: _codecs.encode("…", "latin1").
func (m *machine) encode(args Tuple) (any, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, m.damaged("bytes are made from %d values", len(args))
	}
	text, ok := args[0].(string)
	codec := "utf-8"
	if len(args) == 2 {
		codec, _ = args[1].(string)
	}
	if !ok {
		return nil, m.damaged("bytes are made from %s", Kind(args[0]))
	}
	if err := m.charge(int64(len(text))); err != nil {
		return nil, err
	}
	switch codec {
	case "latin1", "latin-1", "iso-8859-1":
		b, ok := latin1(text)
		if !ok {
			return nil, m.damaged("a text does not fit Latin-1")
		}
		return b, nil
	case "utf-8", "utf8", "ascii":
		return Bytes(text), nil
	}
	return nil, m.damaged("the encoding %q is unknown", codec)
}

func (m *machine) bytesFrom(args Tuple) (any, error) {
	if len(args) == 0 {
		return Bytes{}, nil
	}
	switch v := args[0].(type) {
	case Bytes:
		return v, nil
	case string:
		return m.encode(args)
	case *List:
		if err := m.charge(int64(len(v.Items))); err != nil {
			return nil, err
		}
		out := make(Bytes, len(v.Items))
		for i, item := range v.Items {
			n, ok := item.(int64)
			if !ok || n < 0 || n > 255 {
				return nil, m.damaged("a byte is %s", Kind(item))
			}
			out[i] = byte(n)
		}
		return out, nil
	}
	return nil, m.damaged("bytes are made from %s", Kind(args[0]))
}

// boundMethod is a method of an instance held as a value, as scipy's distributions hold theirs.
func (m *machine) boundMethod(args Tuple) (any, error) {
	if len(args) == 2 {
		_, isObject := args[0].(*Object)
		name, isName := args[1].(string)
		if isObject && isName && !strings.HasPrefix(name, "__") {
			if err := m.charge(costObject); err != nil {
				return nil, err
			}
			return &Object{Class: Global{"builtins", "getattr"}, Args: args}, nil
		}
	}
	return nil, m.refuse("builtins.getattr", "the file asks for an attribute of something that is no instance")
}

// build is BUILD: the state of the instance on top of the stack.
func (m *machine) build() error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	target, err := m.top()
	if err != nil {
		return err
	}
	switch t := target.(type) {
	case *Array:
		if err := m.buildArray(t, state); err != nil {
			return err
		}
	case *DType:
		if err := m.buildDType(t, state); err != nil {
			return err
		}
	case *Dict:
		// Attributes of a dict's subclass: nothing a model is asked for.
	case *Object:
		if t.built {
			return m.damaged("the state of %s is set twice", t.Class)
		}
		t.State, t.attrs, t.built = state, nil, true
		return m.buildWrapper(t)
	default:
		return m.damaged("a state is given to %s", Kind(target))
	}
	return nil
}
