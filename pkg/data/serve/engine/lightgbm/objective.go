// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package lightgbm

import (
	"math"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// link is what turns a raw score into a prediction.
type link uint8

const (
	identity link = iota
	squared       // of a square root, with its sign
	exponential
	sigmoid
	softmax
	logOnePlusExp
)

// objective is a link and its parameter.
type objective struct {
	name  string
	link  link
	scale float64 // of sigmoid
}

// parseObjective reads the objective's line; none at all is a custom objective, whose scores are the predictions.
func parseObjective(words []string) (objective, error) {
	o := objective{name: "custom", scale: 1}
	if len(words) == 0 {
		return o, nil
	}
	o.name = words[0]
	sqrt := false
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, ":")
		switch key {
		case "sigmoid":
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) {
				return o, &engine.BadModel{Where: "objective", Reason: "sigmoid is " + strconv.Quote(value) + ", expected a positive number"}
			}
			o.scale = v
		case "sqrt":
			sqrt = true
		}
	}
	switch o.name {
	case "regression", "regression_l2", "regression_l1", "huber", "fair", "quantile", "mape":
		if sqrt {
			o.link = squared
		}
	case "lambdarank", "rank_xendcg", "xendcg", "custom", "none":
	case "poisson", "gamma", "tweedie":
		o.link = exponential
	case "binary", "multiclassova":
		o.link = sigmoid
	case "cross_entropy", "xentropy":
		o.link, o.scale = sigmoid, 1
	case "cross_entropy_lambda", "xentlambda":
		o.link = logOnePlusExp
	case "multiclass":
		o.link = softmax
	default:
		return o, &engine.Unsupported{Class: "LightGBM objective " + strconv.Quote(o.name), Reason: "no release has an objective of this name"}
	}
	return o, nil
}

// apply turns raw scores into predictions in place, classes scores a row.
func (o objective) apply(scores []float64, classes int) {
	switch o.link {
	case identity:
	case squared:
		for i, v := range scores {
			scores[i] = math.Copysign(v*v, v)
		}
	case exponential:
		for i, v := range scores {
			scores[i] = math.Exp(v)
		}
	case sigmoid:
		for i, v := range scores {
			scores[i] = 1 / (1 + math.Exp(-o.scale*v))
		}
	case logOnePlusExp:
		for i, v := range scores {
			scores[i] = math.Log1p(math.Exp(v))
		}
	case softmax:
		for at := 0; at < len(scores); at += classes {
			normalise(scores[at : at+classes])
		}
	}
}

func normalise(row []float64) {
	top, sum := row[0], 0.0
	for _, v := range row {
		top = max(top, v)
	}
	for i, v := range row {
		row[i] = math.Exp(v - top)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}
