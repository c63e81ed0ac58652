"""Columns seen from y, and what is picked for every direction of y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy.batch_omp import batch_omp
from sparselin.lasso.entry import first_entry
from sparselin.plots.labels import SIZE, Labels, braces, column, look
from sparselin.plots.polytope import orthogonal
from sparselin.plots.style import GREY, in_space, panel, pyplot
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import Columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

