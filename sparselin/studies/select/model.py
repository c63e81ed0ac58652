"""The model that `sparselin select` fits: a scikit-learn Pipeline that ends in one of our selectors."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sparselin import estimators
from sparselin.studies.select.columns import TableColumns
from sparselin.studies.select.data import Data
from sparselin.studies.select.options import METHODS as METHODS


class ModelRequest(NamedTuple):
    """The options that determine a model.

    columns : the use of the columns.
    impute : whether gaps are filled.
    forced : the used columns that come first.
    """

    method: str
    columns: TableColumns
    impute: bool
    loss: str
    intercept: bool
    standardize: bool
    forced: tuple[str, ...]
    seed: int

    @property
    def grouped(self) -> bool:
        """True if some categories have several indicators, which enter together."""
        return max(self.columns.widths, default=1) > 1 and METHODS[self.method].grouped

    @property
    def prepared(self) -> bool:
        """True if columns must be encoded, or gaps filled, before the selection."""
        return self.impute or bool(self.columns.categories)

    @property
    def sizes(self) -> list[int]:
        """The number of columns of X for each feature that can be selected."""
        return self.columns.widths if self.grouped else [1] * sum(self.columns.widths)

    @property
    def first(self) -> list[str]:
        """The names of the columns of X that come first."""
        return [name for used in self.forced for name in self.columns.names_in_X(used)]

    @property
    def first_steps(self) -> int:
        """The number of features that are forced."""
        return len(self.forced if self.grouped else self.first)

    def groups(self) -> list[str] | None:
        """Return the name of the column of the table for each column of X, or None without groups."""
        named = zip(self.columns.names, self.columns.widths, strict=True)
        return [name for name, width in named for _ in range(width)] if self.grouped else None

    def options(self) -> dict[str, Any]:
        """Return the arguments of the selector, apart from the number of features and the groups."""
        method = METHODS[self.method]
        noise = self.grouped and self.method == "omp"
        given: dict[str, tuple[Any, Any]] = {
            "group_weights": ("noise" if noise else None, None),
            "loss": (self.loss, "squared"),
            "standardize": (self.standardize and method.scaled, False),
            "fit_intercept": (self.intercept, True),
            "forced": (self.first, []),
            "random_state": (self.seed if self.method == "sequential-attention" else None, None),
        }
        return dict(method.options) | {
            name: value for name, (value, default) in given.items() if value != default
        }

    def model(self, k: int) -> Pipeline:
        """Return the pipeline that selects k features."""
        options = self.options() | ({"groups": self.groups()} if self.grouped else {})
        selector = getattr(estimators, METHODS[self.method].selector)(k, **options)
        prepare = [("prepare", self._prepare())] if self.prepared else []
        return Pipeline([*prepare, ("select", selector)])

    def _prepare(self) -> ColumnTransformer:
        columns = self.columns
        numbers = SimpleImputer(strategy="median", keep_empty_features=True) if self.impute else "passthrough"
        encoder: Any = OneHotEncoder(
            categories=[list(found) for found in columns.levels],
            drop=list(columns.references),
            handle_unknown="ignore",
            sparse_output=False,
        )
        if self.impute:
            encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
        parts = [("numbers", numbers, list(columns.numbers))]
        parts += [("categories", encoder, list(columns.categories))] if columns.categories else []
        return ColumnTransformer(parts, verbose_feature_names_out=False).set_output(transform="pandas")


def splitter_of(data: Data) -> Any:
    """Return the class of the splitter into folds: by groups of rows, by classes, or at random."""
    if data.groups is not None:
        return GroupKFold
    return StratifiedKFold if data.loss == "logistic" else KFold


def splits_of(data: Data, folds: int, seed: int) -> list[Any]:
    """Return at most `folds` pairs of training and test rows; [] if there is no second group or class."""
    if data.groups is not None:
        folds = min(folds, len(set(data.groups.tolist())))
    elif data.loss == "logistic":
        folds = min(folds, *(int(np.sum(data.y == value)) for value in data.classes))
    folds = min(folds, len(data.y))
    if folds < 2:
        return []
    splitter = splitter_of(data)(folds, shuffle=True, random_state=seed)
    return list(splitter.split(data.X, data.y, data.groups))
