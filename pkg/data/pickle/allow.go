// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"slices"
	"strings"
)

// The allow list. Everything a file names stays a name, so the list does not keep code from running: nothing runs anyhow.
// It keeps a file that means harm, or that needs code which is not in it, from being taken for a model.

// libraries are the packages whose classes and functions may be named.
var libraries = []string{"sklearn", "numpy", "scipy", "pandas", "joblib", "xgboost", "lightgbm", "catboost"} //nolint:gochecknoglobals // a constant table

// names are the other names that may stand as values, by module.
var names = map[string][]string{ //nolint:gochecknoglobals // a constant table
	"builtins": {
		"object", "type", "bool", "int", "float", "complex", "str", "bytes", "bytearray", "list", "tuple", "dict", "set", "frozenset",
		"range", "slice", "getattr", "len", "min", "max", "sum", "abs", "round", "sorted", "Ellipsis", "NotImplemented",
	},
	"collections":    {"OrderedDict", "defaultdict", "Counter", "deque"},
	"copyreg":        {"_reconstructor", "__newobj__"},
	"_codecs":        {"encode"},
	"datetime":       {"datetime", "date", "time", "timedelta", "timezone"},
	"decimal":        {"Decimal"},
	"fractions":      {"Fraction"},
	"functools":      {"partial"},
	"uuid":           {"UUID", "SafeUUID"},
	"pathlib":        {"Path", "PurePath", "PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"},
	"pathlib._local": {"PosixPath", "PurePosixPath"},
	"re":             {"_compile"},
	"math":           {"log", "log2", "log10", "log1p", "exp", "expm1", "sqrt"},
	"threading":      {"Lock", "RLock"},
	"_thread":        {"RLock", "lock"},
	"types":          {"SimpleNamespace"},
}

// hidden are subpackages of the libraries that hold no part of any model.
var hidden = []string{"numpy.testing", "numpy.f2py", "numpy.distutils", "numpy.lib.npyio", "pandas.io", "pandas.core.computation", "scipy.io", "scipy._lib", "joblib.externals", "sklearn.externals.six", "sklearn.externals.loky"} //nolint:gochecknoglobals // a constant table

// normal gives a name its Python 3 form.
func normal(g Global) Global {
	switch g.Module {
	case "__builtin__":
		g.Module = "builtins"
		if g.Name == "unicode" {
			g.Name = "str"
		}
		if g.Name == "long" {
			g.Name = "int"
		}
		if g.Name == "xrange" {
			g.Name = "range"
		}
	case "copy_reg":
		g.Module = "copyreg"
	}
	return g
}

func within(module string, packages []string) bool {
	for _, p := range packages {
		if module == p || len(module) > len(p) && module[len(p)] == '.' && strings.HasPrefix(module, p) {
			return true
		}
	}
	return false
}

// named decides whether g may stand as a value; reason says why not.
func named(g Global) (ok bool, reason string) {
	switch {
	case strings.Contains(g.Name, "."):
		return false, "a name that walks through attributes is not allowed"
	case slices.Contains(names[g.Module], g.Name):
		return true, ""
	case len(names[g.Module]) > 0, !within(g.Module, libraries) && !cython(g):
		return false, "it is outside the classes that a model file may name, and its code is not in the file"
	case within(g.Module, hidden):
		return false, "no part of a model lives in this module"
	}
	return true, ""
}

// cython reports the names under which Cython's extension types of scikit-learn's losses are pickled: a bare module.
func cython(g Global) bool {
	return g.Module == "_loss" && (strings.HasPrefix(g.Name, "Cy") || strings.HasPrefix(g.Name, "__pyx_unpickle_Cy"))
}

// instance decides whether g may be the class of an Object.
func instance(g Global) bool {
	switch g.Module {
	case "builtins":
		return slices.Contains([]string{"object", "complex", "range", "slice"}, g.Name)
	case "copyreg", "_codecs", "math", "re":
		return false
	}
	if _, listed := names[g.Module]; listed {
		return true
	}
	return className(g)
}

func className(g Global) bool {
	name := strings.TrimLeft(g.Name, "_")
	if name == "" {
		return false
	}
	if name[0] >= 'A' && name[0] <= 'Z' {
		return true
	}
	switch {
	case g.Module == "numpy":
		return g.Name == "vectorize" || g.Name == "ndarray" || g.Name == "matrix" || g.Name == "memmap" || g.Name == "poly1d"
	case strings.HasPrefix(g.Module, "scipy.sparse"):
		return strings.HasSuffix(name, "_matrix") || strings.HasSuffix(name, "_array")
	case strings.HasPrefix(g.Module, "scipy.stats"):
		return strings.HasPrefix(name, "rv_") || strings.HasSuffix(name, "_gen") || strings.HasSuffix(name, "_frozen")
	case strings.HasPrefix(g.Module, "scipy.interpolate"):
		return strings.HasPrefix(name, "interp") || name == "rv_histogram"
	case strings.HasPrefix(g.Module, "sklearn.compose"):
		return name == "make_column_selector"
	}
	return false
}

// constructor decides whether REDUCE may call g to make an opaque Object.
func constructor(g Global) bool {
	switch root, _, _ := strings.Cut(g.Module, "."); root {
	case "numpy":
		switch g.Name {
		case "_mareconstruct", "__RandomState_ctor", "__randomstate_ctor", "__bit_generator_ctor", "__generator_ctor", "_ufunc_reconstruct":
			return true
		}
		return strings.HasPrefix(g.Name, "__pyx_unpickle_") && strings.HasPrefix(g.Module, "numpy.random")
	case "pandas":
		return className(g) || g.Name == "_new_Index" || g.Name == "_new_DatetimeIndex" || g.Name == "_new_PeriodIndex" ||
			g.Name == "new_block" || g.Name == "make_block" || g.Name == "sparse_reindex" ||
			strings.HasPrefix(g.Name, "_unpickle_") || strings.HasPrefix(g.Name, "__pyx_unpickle_")
	case "sklearn", "scipy", "_loss":
		return className(g) || g.Name == "newObj" || strings.HasPrefix(g.Name, "__pyx_unpickle_")
	case "xgboost", "lightgbm", "catboost":
		return className(g)
	case "re":
		return g.Name == "_compile"
	case "builtins", "copyreg", "_codecs", "math", "joblib":
		return false
	}
	_, listed := names[g.Module]
	return listed
}
