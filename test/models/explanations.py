"""Records explanations of the recorded models with the library shap, for TestExplanationsAreThoseOfTheLibrary.

    python -m venv venv && venv/bin/pip install shap==0.48.0 numpy==2.2.4 scikit-learn==1.5.2 xgboost-cpu==2.1.4 lightgbm==4.6.0
    venv/bin/python test/models/explanations.py

Trees are explained by the path-dependent algorithm in double precision: for boosters too, whose own libraries would add in
single precision. Linear models have zero as their background.
"""

import glob
import json
import math
import os
import sys
import warnings

import joblib
import lightgbm
import numpy as np
import shap
import xgboost

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
ROWS = 3

TREES = """
sklearn-decision-tree-c sklearn-decision-tree-r sklearn-decision-tree-weights sklearn-extra-trees-c sklearn-extra-trees-r
sklearn-random-forest-c sklearn-random-forest-c-strings sklearn-random-forest-r sklearn-random-forest-r-multi
sklearn-gradient-boosting-c sklearn-gradient-boosting-r sklearn-hist-gb-c-binary sklearn-hist-gb-r
xgboost-squarederror xgboost-logistic xgboost-softprob xgboost-missing xgboost-lossguide xgboost-poisson
lightgbm-regression lightgbm-binary lightgbm-multiclass lightgbm-missing-nan lightgbm-missing-zero lightgbm-dart
""".split()
LINEAR = "sklearn-linreg sklearn-ridge sklearn-lasso sklearn-logreg-binary sklearn-logreg-multinomial sklearn-linearsvc".split()


def read(name):
    folder = os.path.join(DATA, "models", name)
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    file = os.path.join(folder, "model", case["files"][0])
    if case["format"] == "xgboost":
        model = xgboost.Booster(model_file=file)
    elif case["format"] == "lightgbm":
        model = lightgbm.Booster(model_file=file)
    else:
        model = joblib.load(file)
    rows = []
    for given in case["inputs"].values():
        if given["kind"] != "array" or given["ndim"] != 2:
            continue
        for row in given["rows"]:
            if all(isinstance(v, (int, float)) and math.isfinite(v) and abs(v) < 1e6 for v in row) and any(abs(v) > 1e-3 for v in row):
                rows.append([float(v) for v in row])
    return case["format"], model, rows[:ROWS]


def average(tree, node):
    """What a tree gives on average: the library works it out only where a row is explained by the booster itself."""
    if tree.children_left[node] < 0:
        return tree.values[node]
    left, right = tree.children_left[node], tree.children_right[node]
    weights = tree.node_sample_weight
    return (average(tree, left) * weights[left] + average(tree, right) * weights[right]) / weights[node]


def trees(kind, model, x):
    explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    if kind == "xgboost":
        explainer.model.model_type = "internal"  # not the booster's own, which is in single precision
    values = np.asarray(explainer.shap_values(x, check_additivity=False))
    base = np.atleast_1d(np.asarray(explainer.expected_value, dtype=float))
    if kind == "xgboost":
        base = np.zeros(values.shape[2] if values.ndim == 3 else 1) + explainer.model.base_offset
        for i, tree in enumerate(explainer.model.trees):
            base[i % len(base)] += average(tree, 0)[0]
    return values, base


def linear(model, x):
    explainer = shap.LinearExplainer(model, np.zeros((1, x.shape[1])))
    return np.asarray(explainer.shap_values(x)), np.atleast_1d(np.asarray(explainer.expected_value, dtype=float))


def record(name):
    kind, model, rows = read(name)
    x = np.array(rows, dtype=float)
    if name in LINEAR:
        values, base = linear(model, x)
    else:
        values, base = trees(kind, model, x)
    if values.ndim == 2:
        values = values[:, :, None]
    elif values.shape[0] == len(base) and values.shape[1] == len(rows) and values.shape[2] != len(base):
        values = np.moveaxis(values, 0, 2)
    values = np.moveaxis(values, 2, 1)  # rows, outputs, features
    assert values.shape == (len(rows), len(base), x.shape[1]), (values.shape, base.shape, x.shape)
    out = {"model": name, "made_with": "shap " + shap.__version__, "tolerance": 1e-6, "rows": rows, "values": values.tolist(), "base": base.tolist()}
    with open(os.path.join(DATA, "explanations", name + ".json"), "w") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    os.makedirs(os.path.join(DATA, "explanations"), exist_ok=True)
    for name in sys.argv[1:] or TREES + LINEAR:
        try:
            record(name)
            print("recorded", name)
        except Exception as e:  # noqa: BLE001: the list says what can be recorded
            print("not recorded", name, type(e).__name__, str(e)[:200])
