# Copyright 2026 The kserve-go Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the sample models on the public toy data of scikit-learn and writes their golden predictions.

Usage, from the root of the repository:

    python3 -m venv /tmp/train && /tmp/train/bin/pip install -r deploy/samples/train/requirements.txt
    /tmp/train/bin/python deploy/samples/train/train.py

It writes deploy/samples/models/<name>/ (what an InferenceService serves) and deploy/samples/golden/<service>.json (a request
and the answer that the Python library gives to it). The second can be computed without the first: nothing here asks a server.
"""

import json
import pathlib
import shutil

import joblib
import lightgbm
import numpy as np
import sklearn
import xgboost
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

HERE = pathlib.Path(__file__).resolve().parent.parent
EXACT = {"abs": 0, "rel": 0}
CLOSE = {"abs": 1e-12, "rel": 1e-12}
CLOSE32 = {"abs": 1e-6, "rel": 1e-5}


def folder(name):
    """An empty folder for one model."""
    path = HERE / "models" / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def golden(service, library, instances, predictions, tolerance, extra=None):
    """Writes a request and its answer; NumPy's element type decides the V2 datatype."""
    datatype = {"int64": "INT64", "float64": "FP64", "float32": "FP32"}[predictions.dtype.name]
    record = {
        "service": service,
        "library": library,
        "request": {**(extra or {}), "instances": np.asarray(instances).tolist()},
        "predictions": predictions.tolist(),
        "datatype": datatype,
        "shape": list(predictions.shape),
        "tolerance": tolerance,
    }
    (HERE / "golden").mkdir(exist_ok=True)
    (HERE / "golden" / f"{service}.json").write_text(json.dumps(record, indent=1) + "\n")


def main():
    sk = f"scikit-learn {sklearn.__version__}"
    iris, wine, diabetes = load_iris(), load_wine(), load_diabetes()
    rows = np.array([[6.8, 2.8, 4.8, 1.4], [6.0, 3.4, 4.5, 1.6], [5.1, 3.5, 1.4, 0.2], [6.9, 3.1, 5.4, 2.1], [5.9, 3.0, 5.1, 1.8]])

    svc = SVC(gamma="scale").fit(iris.data, iris.target)
    joblib.dump(svc, folder("iris") / "model.joblib")
    golden("sklearn-iris", sk, rows, svc.predict(rows), EXACT)

    # The same question, another model: setosa is told from the rest and named 2, so every answer differs in kind from the above.
    other = LogisticRegression(max_iter=1000).fit(iris.data, np.where(iris.target == 0, 2, 0))
    joblib.dump(other, folder("iris-other") / "model.joblib")
    golden("sklearn-iris-other", sk, rows, other.predict(rows), EXACT)

    xgb = xgboost.XGBClassifier(n_estimators=10, max_depth=3, random_state=0).fit(iris.data, iris.target)
    xgb.get_booster().save_model(folder("iris-xgboost") / "model.json")
    golden("xgboost-iris", f"xgboost {xgboost.__version__}", rows, xgb.get_booster().predict(xgboost.DMatrix(rows)), CLOSE32)

    lgb = lightgbm.train(
        {"objective": "multiclass", "num_class": 3, "num_leaves": 7, "seed": 0, "verbose": -1, "num_threads": 1},
        lightgbm.Dataset(iris.data, iris.target), num_boost_round=10)
    lgb.save_model(folder("iris-lightgbm") / "model.bst")
    golden("lightgbm-iris", f"lightgbm {lightgbm.__version__}", rows, lgb.predict(rows), CLOSE)

    forest = RandomForestClassifier(n_estimators=20, max_depth=5, random_state=0).fit(wine.data, wine.target)
    joblib.dump(forest, folder("wine-forest") / "model.joblib", compress=3)
    golden("wine-forest", sk, wine.data[::30], forest.predict(wine.data[::30]), EXACT)

    body, blood = [0, 1, 2, 3], [4, 5, 6, 7, 8, 9]
    pipeline = Pipeline([
        ("columns", ColumnTransformer([
            ("body", StandardScaler(), body),
            ("blood", Pipeline([("impute", SimpleImputer(strategy="median")), ("scale", MinMaxScaler())]), blood),
        ])),
        ("regress", Ridge(alpha=0.1)),
    ]).fit(diabetes.data, diabetes.target)
    joblib.dump(pipeline, folder("diabetes-pipeline") / "model.joblib")
    golden("diabetes-pipeline", sk, diabetes.data[::90], pipeline.predict(diabetes.data[::90]), {"abs": 1e-9, "rel": 1e-9})

    # For the graphs: flowers measured in inches are converted by one model and named by the next.
    inches = LinearRegression().fit(iris.data / 2.54, iris.data)
    joblib.dump(inches, folder("iris-inches") / "model.joblib")
    golden("iris-inches", sk, rows / 2.54, inches.predict(rows / 2.54), {"abs": 1e-9, "rel": 1e-9})
    golden("iris-from-inches", sk, rows / 2.54, svc.predict(inches.predict(rows / 2.54)), EXACT)
    golden("iris-by-choice", f"xgboost {xgboost.__version__}", rows,
           xgb.get_booster().predict(xgboost.DMatrix(rows)), CLOSE32, {"model": "xgboost"})


if __name__ == "__main__":
    main()
