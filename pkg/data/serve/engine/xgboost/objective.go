// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"math"
	"strings"
)

// link is what turns a margin into a prediction, and a base score into a margin.
type link uint8

const (
	identity link = iota
	logistic
	exponential
	hinge
	softmax
	softprob
)

// linkOf is the link of an objective's name; ok is false for a name that no release knows.
func linkOf(name string) (l link, ok bool) {
	switch strings.TrimPrefix(name, "gpu:") {
	case "reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror",
		"reg:quantileerror", "reg:expectileerror", "binary:logitraw", "rank:pairwise", "rank:ndcg", "rank:map":
		return identity, true
	case "binary:logistic", "reg:logistic":
		return logistic, true
	case "binary:hinge":
		return hinge, true
	case "count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft":
		return exponential, true
	case "multi:softmax":
		return softmax, true
	case "multi:softprob":
		return softprob, true
	default:
		return identity, false
	}
}

// margin is where a sum starts for a base score, in the precision that XGBoost has there.
func (l link) margin(score float32) float32 {
	switch l {
	case logistic:
		return -float32(math.Log(float64(1/score - 1)))
	case exponential:
		return float32(math.Log(float64(score)))
	default:
		return score
	}
}

func exp32(v float32) float32 { return float32(math.Exp(float64(v))) }

// apply turns margins into predictions in place, groups margins a row. For softmax the first value of a row becomes the class.
func (l link) apply(margins []float32, groups int) {
	switch l {
	case identity:
	case logistic:
		for i, v := range margins {
			margins[i] = 1 / (exp32(min(-v, 88.7)) + 1 + 1e-16)
		}
	case exponential:
		for i, v := range margins {
			margins[i] = exp32(v)
		}
	case hinge:
		for i, v := range margins {
			margins[i] = 0
			if v > 0 {
				margins[i] = 1
			}
		}
	case softmax:
		for at := 0; at < len(margins); at += groups {
			row := margins[at : at+groups]
			best := 0
			for i, v := range row {
				if v > row[best] {
					best = i
				}
			}
			margins[at/groups] = float32(best)
		}
	case softprob:
		for at := 0; at < len(margins); at += groups {
			normalise(margins[at : at+groups])
		}
	}
}

func normalise(row []float32) {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	sum := 0.0
	for i, v := range row {
		row[i] = exp32(v - top)
		sum += float64(row[i])
	}
	for i := range row {
		row[i] /= float32(sum)
	}
}
