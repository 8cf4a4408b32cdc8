// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

func addScalers(r map[string]builder) {
	r["preprocessing.StandardScaler"] = buildStandardScaler
	r["preprocessing.MinMaxScaler"] = buildMinMaxScaler
	r["preprocessing.MaxAbsScaler"] = buildMaxAbsScaler
	r["preprocessing.RobustScaler"] = buildRobustScaler
	r["preprocessing.FunctionTransformer"] = buildFunction
}

// scaler is the family of transformers that map each column on its own by x → (x - shift) / scale, or x * scale + shift.
type scaler struct {
	fitted
	shift, scale []float64 // nil leaves the step out
	multiply     bool      // x * scale + shift, as MinMaxScaler has it
	clip         bool
	low, high    float64
	// narrow says that a float32 input takes the parameters as float32; else each step is rounded once.
	narrow bool
	frame  bool
}

func buildStandardScaler(a *attrs) (estimator, error) {
	s := &scaler{fitted: a.fitted(), frame: a.frameOutput(), narrow: a.version.atLeast(1, 8)}
	withMean, withStd := a.flag("with_mean", true), a.flag("with_std", true)
	scale := a.first("scale_", "std_")
	if withStd {
		s.scale = a.vector(scale)
		if a.err == nil {
			a.columns(&s.fitted, len(s.scale), scale)
		}
	}
	if withMean {
		s.shift = a.vector("mean_")
		if a.err == nil {
			a.columns(&s.fitted, len(s.shift), "mean_")
		}
	}
	a.must("mean_")
	return s, a.err
}

func buildMaxAbsScaler(a *attrs) (estimator, error) {
	s := &scaler{fitted: a.fitted(), frame: a.frameOutput(), scale: a.vector("scale_")}
	a.columns(&s.fitted, len(s.scale), "scale_")
	if a.flag("clip", false) {
		a.unsupported("clip")
	}
	return s, a.err
}

func buildRobustScaler(a *attrs) (estimator, error) {
	s := &scaler{fitted: a.fitted(), frame: a.frameOutput()}
	a.must("scale_")
	if a.flag("with_centering", true) {
		s.shift = a.vector("center_")
		a.columns(&s.fitted, len(s.shift), "center_")
	}
	if a.flag("with_scaling", true) {
		s.scale = a.vector("scale_")
		a.columns(&s.fitted, len(s.scale), "scale_")
	}
	return s, a.err
}

func buildMinMaxScaler(a *attrs) (estimator, error) {
	s := &scaler{fitted: a.fitted(), multiply: true, frame: a.frameOutput()}
	s.scale, s.shift = a.vector("scale_"), a.vector("min_")
	if a.err != nil {
		return nil, a.err
	}
	a.columns(&s.fitted, len(s.scale), "scale_")
	a.columns(&s.fitted, len(s.shift), "min_")
	if s.clip = a.flag("clip", false); s.clip {
		r := a.items("feature_range")
		if len(r) != 2 {
			a.bad("feature_range", "two numbers")
			return nil, a.err
		}
		s.low, s.high = a.asNumber("feature_range", r[0]), a.asNumber("feature_range", r[1])
	}
	return s, a.err
}

func (s *scaler) methods() []string { return []string{transform, inverse} }

func (s *scaler) columnNames(in []string) []string { return in }

func (s *scaler) run(c *call, method string, x *table) (*table, error) {
	x, err := s.check(c, x, allowNaN)
	if err != nil {
		return nil, err
	}
	single := x.typ == float32s
	y := c.numbers(x.rows, x.cols, floatOf(x.typ))
	for i := range x.rows {
		in, out := x.row(i), y.row(i)
		for j, v := range in {
			if method == transform {
				v = s.forward(j, v, single)
			} else {
				v = s.backward(j, v, single)
			}
			out[j] = v
		}
	}
	if s.frame {
		y.names = x.names
	}
	return y, nil
}

// floatOf is the type of a result of arithmetic with float64 parameters that is stored in place.
func floatOf(t dtype) dtype {
	if t == float32s {
		return float32s
	}
	return float64s
}

// to32 rounds to a float32 where the library stores one.
func to32(v float64, single bool) float64 {
	if single {
		return float64(float32(v))
	}
	return v
}

func (s *scaler) forward(j int, v float64, single bool) float64 {
	if s.multiply {
		v = to32(v*s.scale[j], single)
		v = to32(v+s.shift[j], single)
		if s.clip {
			// Not min and max: NaN stays.
			if v < s.low {
				v = s.low
			} else if v > s.high {
				v = s.high
			}
		}
		return v
	}
	if s.shift != nil {
		v = to32(v-to32(s.shift[j], single && s.narrow), single)
	}
	if s.scale != nil {
		v = to32(v/to32(s.scale[j], single && s.narrow), single)
	}
	return v
}

func (s *scaler) backward(j int, v float64, single bool) float64 {
	if s.multiply {
		return to32(to32(v-s.shift[j], single)/s.scale[j], single)
	}
	if s.scale != nil {
		v = to32(v*to32(s.scale[j], single && s.narrow), single)
	}
	if s.shift != nil {
		v = to32(v+to32(s.shift[j], single && s.narrow), single)
	}
	return v
}
