"""Figure 1 of *Selecting Diverse Features via Spectral Regularization* (2012): robustness and diversity.

Each row of X (n, d) is a sampled image and each column a pixel; y has the labels. The columns and y are
scaled to unit length and not centred. A pixel that is zero in all sampled images is a zero column, which no
method selects. Let S be the k features that a method selects, α = X_S⁺y the coefficients of least squares,
and C_S = X_SᵀX_S. Noise is added to y or to the columns,

    y' = y + σ η/‖η‖,   X'_j = X_j + σ E_j/‖E_j‖,   η and E_j white,

where α' are the coefficients for the perturbed data. The error is ‖α' − α‖, averaged over the repeats of the
noise. All methods have the same noise. For noise in y, α' − α = σ·X_S⁺η/‖η‖ is linear in σ, and

    E‖α' − α‖² = σ²·tr C_S⁻¹/n ≥ σ²·k/n

for every design with unit columns, because tr C_S⁻¹·tr C_S ≥ k². The square roots of the two sides, divided
by σ, are the fields `expected` and `least_expected` of a selection.

The paper leaves some choices open. Here the exponent of the regularizer "gr" (generalized rank) is ½. The
"maximum possible" of a regularizer over k unit columns is its value at orthonormal columns. The LASSO's R² is
computed from its own coefficients, unless `refitted` is true. The LASSO's solution with k features is the
last solution before the path has more than k features (`choose_nu`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from proofs_checks.experiments.diversity.regularizers import REGULARIZERS, carrier
from sparselin.ensembles.datasets import Images
from sparselin.parallel.processes import run_jobs
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.choice import LassoFit, choose_nu_for_each, lasso_fits
from sparselin.spectral.regularizers import SmoothedDifferentialEntropy
from sparselin.spectral.regularizers.base import SetFunction
from sparselin.spectral.search import forward_regression

BASELINES = ("lasso", "no-reg")
KS = {"MNIST": tuple(range(10, 100, 10)), "digits": tuple(range(5, 45, 5))}
OTHER_SIGMAS = (0.01, 0.03, 0.1, 0.3, 1.0)
# a pixel is rare if it is nonzero in less than this fraction of the images
RARE = 0.01


@dataclasses.dataclass(frozen=True)
class DiversitySettings:
    """The settings of the experiment on diversity.

    Attributes
    ----------
    ks, sigma, repeats, seed, alpha, refitted, jobs : the options of the command line with these names.
    sigmas : other values of σ, for the claim "results for other values of σ are similar".
    """

    ks: tuple[int, ...] = KS["MNIST"]
    sigma: float = 0.1
    repeats: int = 5
    seed: int = 0
    alpha: float = 0.5
    refitted: bool = False
    jobs: int = 2
    sigmas: tuple[float, ...] = OTHER_SIGMAS

    def all_sigmas(self) -> tuple[float, ...]:
        """Return all strengths σ of the noise, the main one first."""
        return (self.sigma, *(sigma for sigma in self.sigmas if sigma != self.sigma))

    def regularizers(self, k: int) -> dict[str, SetFunction]:
        """Return all registered regularizers by name, with the constants that belong to k features."""
        return {name: regularizer.of(k, self.alpha) for name, regularizer in REGULARIZERS.items()}

    def tasks(self) -> list[MethodTask]:
        """Return the tasks of the processes, the longest first.

        A method that adds one feature after another (forward regression) has one task for all k. A method
        that searches anew for each k has a task for each k.
        """
        forward = [
            name for name, regularizer in reversed(REGULARIZERS.items()) if regularizer.method == "forward"
        ]
        searched = [name for name in REGULARIZERS if name not in forward]
        return [
            *(MethodTask(name, self.ks) for name in (*forward, *BASELINES)),
            *(MethodTask(name, (k,)) for k in sorted(self.ks, reverse=True) for name in searched),
        ]


@dataclasses.dataclass(frozen=True)
class MethodTask:
    """The task of one process: to run one method for some numbers k of features."""

    method: str
    ks: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Design:
    """The regression problem of the experiment: labels of images on their pixels.

    Attributes
    ----------
    name, note : the name of the images, and a remark on them.
    X : (n, d), a row for each image and a column for each pixel, of length 1 or zero.
    y : (n,), the labels, scaled to length 1.
    shape : the height and width of an image, d = height·width.
    usage : (d,) the fraction of the images in which each pixel is nonzero.
    """

    name: str
    note: str
    X: FloatArray
    y: FloatArray
    shape: tuple[int, int]
    usage: FloatArray


@dataclasses.dataclass(frozen=True)
class MethodSelection:
    """The selection of one method for one k, and the errors of its coefficients under noise.

    Attributes
    ----------
    method, k : the method, and the number of features to select. The method may select fewer than k features,
        see `short`.
    support : the selected features S.
    nu, upper, qualifies : the weight ν of the regularizer and how it was chosen, as in `NuChoice`; 0, 0 and
        "" for the baselines.
    r2 : R² of least squares on the support.
    r2_lasso, r2_refitted : R² of the LASSO at this k, with its own coefficients and with least squares.
    diversity : regularizer f -> f(S) divided by its largest value for k unit columns.
    plain : the diversity without the constants of the regularizers. "ld-0.1" -> Σ log₂(δ + λ_i)/(k·log₂(1 +
        δ)) with δ = 0.1 and the eigenvalues λ_i of C_S = X_SᵀX_S. "sv" -> 1 minus the mean squared
        correlation of two selected features. Both are 1 for k orthonormal columns.
    target, features : σ -> the errors of each repeat with y or X perturbed.
    expected, least_expected : √(tr C_S⁺/n) and √(k/n): the root mean square of the error for noise in y,
        divided by the strength σ of the noise, and the smallest value that this can have for k unit columns.
    rare : the number of selected pixels that are nonzero in few images.
    """

    method: str
    k: int
    support: tuple[int, ...]
    nu: float
    upper: float
    qualifies: str
    r2: float
    r2_lasso: float
    r2_refitted: float
    diversity: dict[str, float]
    plain: dict[str, float]
    target: dict[float, tuple[float, ...]]
    features: dict[float, tuple[float, ...]]
    expected: float
    least_expected: float
    rare: int

    @property
    def short(self) -> bool:
        """True if the selection has fewer than k features; its errors then tend to be smaller than with k
        features.
        """
        return len(self.support) < self.k


class _Choice(NamedTuple):
    """The features that a method selects, and how the weight ν of the regularizer was chosen."""

    support: IndexArray
    nu: float = 0.0
    upper: float = 0.0
    qualifies: str = ""


def sample(images: Images, count: int, seed: int) -> Design:
    """Return the regression problem of `count` images that are sampled at random.

    Raises ValueError if there are fewer images, or if all sampled labels are zero.
    """
    if not 1 <= count <= len(images.labels):
        raise ValueError(f"count must be 1 to {len(images.labels)}, the images of {images.name}; got {count}")
    rows = np.random.default_rng([seed, 0]).choice(len(images.labels), count, replace=False)
    X = images.pixels[rows].reshape(count, -1).astype(np.float64)
    y = images.labels[rows].astype(np.float64)
    if not y.any():
        raise ValueError("the labels of all sampled images are 0: sample more images, or use another seed")
    lengths, usage = np.linalg.norm(X, axis=0), (X > 0).mean(axis=0)
    X, y = X / np.where(lengths > 0, lengths, 1), y / np.linalg.norm(y)
    height, width = images.pixels.shape[1:]
    return Design(name=images.name, note=images.note, X=X, y=y, shape=(height, width), usage=usage)


def select(design: Design, task: MethodTask, settings: DiversitySettings) -> list[MethodSelection]:
    """Run one method, and return its selection for each number k of features in the task."""
    problem, ks = Problem(design.X, design.y), task.ks
    fits = dict(zip(ks, lasso_fits(problem, ks), strict=True))
    if task.method == "lasso":
        chosen = {k: _Choice(fit.features) for k, fit in fits.items()}
    elif task.method == "no-reg":
        order = forward_regression(problem, None, max(ks)).support
        chosen = {k: _Choice(order[:k]) for k in ks}
    else:
        f, search = settings.regularizers(max(ks))[task.method], REGULARIZERS[task.method].method
        found = choose_nu_for_each(problem, None, ks, f, method=search, refitted=settings.refitted)
        chosen = {
            k: _Choice(choice.selection.support, choice.nu, choice.upper, choice.qualifies)
            for k, choice in zip(ks, found, strict=True)
        }
    return [_record(design, settings, task.method, k, fits[k], chosen[k]) for k in ks]


def _record(
    design: Design, settings: DiversitySettings, method: str, k: int, fit: LassoFit, chosen: _Choice
) -> MethodSelection:
    S = chosen.support
    X_S, n = design.X[:, S], len(design.y)
    C = X_S.T @ X_S
    regularizers = settings.regularizers(k)
    residual = design.y - X_S @ np.linalg.lstsq(X_S, design.y, rcond=None)[0]
    target, features = noise_errors(design, S, settings)
    return MethodSelection(
        method=method,
        k=k,
        support=tuple(int(j) for j in S),
        nu=chosen.nu,
        upper=chosen.upper,
        qualifies=chosen.qualifies,
        r2=float(1 - residual @ residual),
        r2_lasso=fit.r2,
        r2_refitted=fit.r2_refitted,
        diversity={
            name: f.value(C, range(len(S))) / f.value(np.eye(k), range(k)) for name, f in regularizers.items()
        },
        plain=_plain(C, k),
        target=target,
        features=features,
        expected=float(np.sqrt(np.trace(np.linalg.pinv(C, hermitian=True)) / n)),
        least_expected=float(np.sqrt(k / n)),
        rare=int((design.usage[S] < RARE).sum()),
    )


def _plain(C: FloatArray, k: int) -> dict[str, float]:
    f, t = SmoothedDifferentialEntropy(0.1), len(C)
    pairs = max(t * (t - 1), 1)
    return {
        "ld-0.1": f.value(C, range(t)) / f.value(np.eye(k), range(k)),
        "sv": 1 - float(((C - np.diag(np.diag(C))) ** 2).sum()) / pairs,
    }


def noise_errors(
    design: Design, S: IndexArray, settings: DiversitySettings
) -> tuple[dict[float, tuple[float, ...]], dict[float, tuple[float, ...]]]:
    """Return the errors ‖α' − α‖ of the least-squares coefficients α on the features S under noise.

    α' are the coefficients for perturbed data. The two results are for noise in y and for noise in X; each
    maps the strength σ of the noise to the errors of all repeats.
    """
    X_S, y, sigmas = design.X[:, S], design.y, settings.all_sigmas()
    alpha = np.linalg.lstsq(X_S, y, rcond=None)[0]
    drawn = [noise(settings.seed, repeat, *design.X.shape) for repeat in range(settings.repeats)]

    def error(X: FloatArray, y: FloatArray) -> float:
        return float(np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0] - alpha))

    return (
        {sigma: tuple(error(X_S, y + sigma * eta) for eta, _ in drawn) for sigma in sigmas},
        {sigma: tuple(error(X_S + sigma * E[:, S], y) for _, E in drawn) for sigma in sigmas},
    )


@functools.lru_cache(maxsize=8)
def noise(seed: int, repeat: int, n: int, d: int) -> tuple[FloatArray, FloatArray]:
    """Return white noise for y (n,) and for X (n, d), where the vector and each column have length 1.

    The noise depends on the seed and on the number of the repeat. It is the same for every method, every
    number of features and every strength of the noise.
    """
    rng = np.random.default_rng([seed, 1, repeat])
    eta, E = rng.standard_normal(n), rng.standard_normal((n, d))
    return eta / np.linalg.norm(eta), E / np.linalg.norm(E, axis=0)


def select_all(design: Design, settings: DiversitySettings) -> Iterator[list[MethodSelection]]:
    """Yield the selections of each task as soon as the task ends; several processes compute the tasks.

    Closing the iterator stops the processes.
    """
    jobs = ((select, (design, task, settings)) for task in settings.tasks())
    yield from run_jobs(jobs, settings.jobs, carrier())


def methods() -> list[str]:
    """Return the names of all methods: the baselines, then the regularizers in the order of their panels."""
    return [*BASELINES, *REGULARIZERS]


def sort_selections(selections: Sequence[MethodSelection]) -> list[MethodSelection]:
    """Return the selections, sorted by method in the order of the paper, and then by the number k of
    features.
    """
    return sorted(selections, key=lambda s: (methods().index(s.method), s.k))
