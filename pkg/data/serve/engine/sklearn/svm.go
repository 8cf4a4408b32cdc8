// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func addSVM(r map[string]builder) {
	r["svm.SVC"] = buildSVC
	r["svm.NuSVC"] = buildSVC
	r["svm.SVR"] = buildSVR
	r["svm.NuSVR"] = buildSVR
	r["svm.OneClassSVM"] = buildOneClass
}

// supportVectors is what the estimators of libsvm share: kernel values against the support vectors, weighted.
type supportVectors struct {
	fitted
	kernel       string
	gamma, coef0 float64
	degree       int
	vectors      matrix
	at           []int  // precomputed kernel: the support vectors' positions in a row
	coef         matrix // dual coefficients
	intercept    []float64
}

func (s *supportVectors) build(a *attrs) {
	s.fitted = a.fitted()
	s.kernel = a.kernelName()
	s.gamma, s.coef0 = a.number("_gamma"), a.numberOr("coef0", 0)
	if s.kernel == "poly" {
		s.degree = a.count("degree")
	}
	if a.flag("_sparse", false) {
		a.unsupported("a fit on sparse data")
		return
	}
	coef, intercept := a.first("_dual_coef_", "dual_coef_"), a.first("_intercept_", "intercept_")
	s.coef = a.matrix(coef)
	s.intercept = a.vector(intercept)
	if a.err != nil {
		return
	}
	if s.kernel == "precomputed" {
		at, ok := intItems(a.must("support_"))
		n := a.items("shape_fit_")
		if !ok || len(n) == 0 || len(at) != s.coef.cols {
			a.bad("support_", "a position for each coefficient")
			return
		}
		rows, _ := pickle.Int(n[0])
		a.columns(&s.fitted, int(rows), "shape_fit_")
		for _, i := range at {
			if i < 0 || i >= s.n {
				a.fail("support_", "row %d of %d", i, s.n)
				return
			}
		}
		s.at = at
		return
	}
	s.vectors = a.matrixOf("support_vectors_", s.coef.cols, -1)
	a.columns(&s.fitted, s.vectors.cols, "support_vectors_")
}

func (a *attrs) kernelName() string {
	if _, ok := pickle.Text(a.must("kernel")); !ok {
		a.unsupported("a kernel that is %s", pickle.Kind(a.value("kernel")))
		return ""
	}
	k := a.text("kernel")
	switch k {
	case "linear", "poly", "rbf", "sigmoid", "precomputed":
	default:
		a.unsupported("the kernel %s", k)
	}
	return k
}

// kernels writes the kernel value of row x against each support vector.
func (s *supportVectors) kernels(x, out []float64) {
	for i := range out {
		switch s.kernel {
		case "precomputed":
			out[i] = x[s.at[i]]
		case "linear":
			out[i] = dot(x, s.vectors.row(i))
		case "poly":
			out[i] = power(s.gamma*dot(x, s.vectors.row(i))+s.coef0, s.degree)
		case "sigmoid":
			out[i] = math.Tanh(s.gamma*dot(x, s.vectors.row(i)) + s.coef0)
		default:
			out[i] = math.Exp(-s.gamma * squaredDistance(x, s.vectors.row(i)))
		}
	}
}

// power multiplies as libsvm does.
func power(base float64, times int) float64 {
	out := 1.0
	for ; times > 0; times /= 2 {
		if times%2 == 1 {
			out *= base
		}
		base *= base
	}
	return out
}

func squaredDistance(a, b []float64) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		d := v - b[i]
		sum += d * d
	}
	return sum
}

// check validates and makes float64s of everything, as libsvm computes in them.
func (s *supportVectors) check(c *call, x *table) (*table, error) {
	return s.fitted.check(c, x, onlyFinite)
}

// svc is a classifier by votes between each two classes.
type svc struct {
	supportVectors
	labels       *labels
	start        []int // of each class's support vectors
	pairs        int
	overRest     bool
	breakTies    bool
	batchScale   bool // up to version 0.20 the scores of a batch are scaled together
	probA, probB []float64
}

func buildSVC(a *attrs) (estimator, error) {
	s := &svc{labels: a.classes("classes_")}
	s.build(a)
	counts, ok := intItems(a.must(a.first("_n_support", "n_support_")))
	if a.err == nil && !ok {
		a.bad(a.first("_n_support", "n_support_"), "a number of support vectors for each class")
	}
	if a.err != nil {
		return nil, a.err
	}
	k := s.labels.len()
	s.pairs = k * (k - 1) / 2
	at := 0
	for _, n := range counts {
		s.start = append(s.start, at)
		if n < 0 || n > s.coef.cols {
			a.fail("_n_support", "%d support vectors of %d", n, s.coef.cols)
			return nil, a.err
		}
		at += n
	}
	s.start = append(s.start, at)
	if k < 2 || len(counts) != k || at != s.coef.cols || s.coef.rows != k-1 || len(s.intercept) != s.pairs {
		a.fail("dual_coef_", "shape [%d %d], %d intercepts and support vectors of %d classes do not fit %d classes", s.coef.rows, s.coef.cols, len(s.intercept), len(counts), k)
		return nil, a.err
	}
	s.overRest = a.textOr("decision_function_shape", "ovr") != "ovo"
	s.breakTies = a.flag("break_ties", false)
	s.batchScale = a.version != (version{}) && !a.version.atLeast(0, 21)
	a.together = a.together || s.batchScale
	if probA := a.first("_probA", "probA_"); a.has(probA) {
		if v := a.vector(probA); len(v) > 0 {
			s.probA = a.vectorOf(probA, s.pairs)
			s.probB = a.vectorOf(a.first("_probB", "probB_"), s.pairs)
		}
	}
	return s, a.err
}

func (s *svc) outputs() []*labels { return []*labels{s.labels} }

func (s *svc) methods() []string {
	if s.probA == nil {
		return []string{predict, decision}
	}
	return []string{predict, predictProba, predictLogProba, decision}
}

func (s *svc) run(c *call, method string, x *table) (*table, error) {
	x, err := s.check(c, x)
	if err != nil {
		return nil, err
	}
	k := s.labels.len()
	scores := c.numbers(x.rows, s.pairs, float64s)
	values := c.floats(s.coef.cols)
	for i := range x.rows {
		c.patience(i)
		s.kernels(x.row(i), values)
		s.scores(values, scores.row(i))
	}
	switch method {
	case decision:
		return s.decide(c, scores), nil
	case predict:
		if s.breakTies && !s.overRest {
			return nil, protocol.Errorf(protocol.Invalid, "%s breaks ties by its decision function, which it cannot with decision_function_shape='ovo'", s.class)
		}
		if s.breakTies && k > 2 {
			return chooseByScore(c, s.decide(c, scores), s.labels), nil
		}
		return s.vote(c, scores), nil
	}
	y := c.numbers(x.rows, k, float64s)
	work := c.floats(2*k*k + k)
	for i := range x.rows {
		c.patience(i)
		s.probabilities(scores.row(i), y.row(i), work)
	}
	if method == predictLogProba {
		logs(y)
	}
	return y, nil
}

// scores are the decisions between each two classes, positive for the first.
func (s *svc) scores(values, out []float64) {
	k := s.labels.len()
	p := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			sum := 0.0
			for v := s.start[i]; v < s.start[i+1]; v++ {
				sum += s.coef.v[(j-1)*s.coef.cols+v] * values[v]
			}
			for v := s.start[j]; v < s.start[j+1]; v++ {
				sum += s.coef.v[i*s.coef.cols+v] * values[v]
			}
			out[p] = sum + s.intercept[p]
			p++
		}
	}
}

func (s *svc) vote(c *call, scores *table) *table {
	k := s.labels.len()
	y := c.classes(scores.rows, s.labels)
	votes := c.floats(k)
	for r := range scores.rows {
		clear(votes)
		row := scores.row(r)
		p := 0
		for i := range k {
			for j := i + 1; j < k; j++ {
				if row[p] > 0 {
					votes[i]++
				} else {
					votes[j]++
				}
				p++
			}
		}
		y.index[r] = int32(argmax(votes))
	}
	return y
}

// decide is the decision function: one score for two classes, else votes with the summed confidences as the fraction.
func (s *svc) decide(c *call, scores *table) *table {
	k := s.labels.len()
	if k == 2 {
		y := c.column1(scores.rows, float64s)
		for i, v := range scores.num {
			y.num[i] = -v
		}
		return y
	}
	if !s.overRest {
		return scores
	}
	y := c.numbers(scores.rows, k, float64s)
	sums := c.zeros(scores.rows * k)
	clear(y.num)
	for r := range scores.rows {
		row, votes, sum := scores.row(r), y.row(r), sums[r*k:(r+1)*k]
		p := 0
		for i := range k {
			for j := i + 1; j < k; j++ {
				// The confidence is for the second class; it wins where the score is negative.
				sum[i] += row[p]
				sum[j] -= row[p]
				if row[p] < 0 {
					votes[j]++
				} else {
					votes[i]++
				}
				p++
			}
		}
	}
	if s.batchScale {
		addScaled(y.num, sums)
		return y
	}
	for i, v := range sums {
		y.num[i] += v / (3 * (math.Abs(v) + 1))
	}
	return y
}

// addScaled scales the confidences of the whole batch to less than a half.
func addScaled(votes, sums []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range sums {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	if low == high {
		return
	}
	const epsilon = 0x1p-52
	scale := (0.5 - epsilon) / math.Max(math.Abs(low), math.Abs(high))
	for i, v := range sums {
		votes[i] += v * scale
	}
}

// probabilities couples the pairwise probabilities, as libsvm does. work holds 2k² + k numbers.
func (s *svc) probabilities(scores, out, work []float64) {
	const least = 1e-7
	k := len(out)
	r, q, qp := work[:k*k], work[k*k:2*k*k], work[2*k*k:]
	p := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			v := math.Min(math.Max(platt(scores[p], s.probA[p], s.probB[p]), least), 1-least)
			r[i*k+j], r[j*k+i] = v, 1-v
			p++
		}
	}
	couple(k, r, q, qp, out)
}

func platt(score, a, b float64) float64 {
	v := score*a + b
	if v >= 0 {
		return math.Exp(-v) / (1 + math.Exp(-v))
	}
	return 1 / (1 + math.Exp(v))
}

func couple(k int, r, q, qp, out []float64) {
	for t := range k {
		out[t] = 1 / float64(k)
		q[t*k+t] = 0
		for j := range k {
			if j == t {
				continue
			}
			q[t*k+t] += r[j*k+t] * r[j*k+t]
			if j < t {
				q[t*k+j] = q[j*k+t]
			} else {
				q[t*k+j] = -r[j*k+t] * r[t*k+j]
			}
		}
	}
	epsilon := 0.005 / float64(k)
	for range max(100, k) {
		pqp := 0.0
		for t := range k {
			qp[t] = 0
			for j := range k {
				qp[t] += q[t*k+j] * out[j]
			}
			pqp += out[t] * qp[t]
		}
		worst := 0.0
		for t := range k {
			worst = math.Max(worst, math.Abs(qp[t]-pqp))
		}
		if worst < epsilon {
			return
		}
		for t := range k {
			diff := (-qp[t] + pqp) / q[t*k+t]
			out[t] += diff
			pqp = (pqp + diff*(diff*q[t*k+t]+2*qp[t])) / (1 + diff) / (1 + diff)
			for j := range k {
				qp[j] = (qp[j] + diff*q[t*k+j]) / (1 + diff)
				out[j] /= 1 + diff
			}
		}
	}
}

// svr is a regressor, or, with an offset, the detector of novelties.
type svr struct {
	supportVectors
	novelty bool
	offset  float64
}

func buildSVR(a *attrs) (estimator, error) {
	s := &svr{}
	s.build(a)
	if a.err == nil && (s.coef.rows != 1 || len(s.intercept) != 1) {
		a.fail("dual_coef_", "%d rows of coefficients and %d intercepts, expected one of each", s.coef.rows, len(s.intercept))
	}
	return s, a.err
}

func buildOneClass(a *attrs) (estimator, error) {
	est, err := buildSVR(a)
	if err != nil {
		return nil, err
	}
	s := est.(*svr) //nolint:forcetypeassert // what buildSVR makes
	s.novelty = true
	s.offset = -s.intercept[0]
	if a.has("offset_") {
		if v := a.vectorOf("offset_", 1); a.err == nil {
			s.offset = v[0]
		}
	}
	return s, a.err
}

func (s *svr) methods() []string {
	if s.novelty {
		return []string{predict, decision, scoreSamples}
	}
	return []string{predict}
}

func (s *svr) run(c *call, method string, x *table) (*table, error) {
	x, err := s.check(c, x)
	if err != nil {
		return nil, err
	}
	y := c.column1(x.rows, float64s)
	values := c.floats(s.coef.cols)
	for i := range x.rows {
		c.patience(i)
		s.kernels(x.row(i), values)
		sum := 0.0
		for v, k := range values {
			sum += s.coef.v[v] * k
		}
		y.num[i] = sum + s.intercept[0]
	}
	switch {
	case s.novelty && method == predict:
		y.typ = integers
		for i, v := range y.num {
			y.num[i] = -1
			if v > 0 {
				y.num[i] = 1
			}
		}
	case method == scoreSamples:
		for i := range y.num {
			y.num[i] += s.offset
		}
	}
	return y, nil
}
