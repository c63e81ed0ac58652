"""Figure 1 and Section 6: the statements on the experiments, and the scale on which diversity is plotted.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 6, Figure 1. The paper's
observations are about 1000 images of MNIST, which is not part of this project. `make diversity` repeats them
on a machine that has MNIST, and the ledger quotes its results with command, seed and date. The checks here
repeat the protocol, in code of its own, on samples of scikit-learn's digits. The checks decide whether the
observations also hold for other images.

The scale is described in these words: "the regularizer values for each k are normalized by the maximum value
possible for that k". Over sets of exactly k unit vectors, the maximum is attained at orthonormal sets, and
the minimum at k copies of one vector (ledger ids SR-diversity-entropy, SR-diversity-rank and
SR-diversity-variance). With c = log₂(1/δ), for the smoothed entropy f_de, the generalized rank f_gr and the
spectral variance f_sv,

    f        largest               smallest                        smallest/largest
    f_de     k log₂(1 + δ) + 3kc   log₂(δ + k) + (2k + 1)c         > 2c/(3c + log₂(1 + δ)) for δ < 1
    f_gr     k                     k^α                             k^{α−1}
    f_sv     9k²                   8k² + k                         1 − (k − 1)/(9k) > 8/9.

For δ = 0.1, the least normalised f_de is above 0.657. But the axis of Figure 1(d) begins at 0.4. If the axis
was fitted to the curves, the curves show f_de without its constant 3kc, or with a smaller constant. The axis
of Figure 1(e), from 0.93, agrees with f_sv as defined.

The trend: by Han's inequality, the average of f/k over the subsets of k features decreases with k, and so do
the averages of all four normalised values (docs/proofs/spectral_figure_1.md). If a curve increases, the
normalisation is not the reason.

Noise in y: let α be the coefficients of least squares on S, and α' the coefficients after the noise ση/‖η‖ is
added to y. Then α' − α = σX_S⁺η/‖η‖ is proportional to σ, and for k unit columns

    E‖α' − α‖² = σ²·tr C_S⁻¹/n ≥ σ²k/n.
"""

import functools
import itertools

import numpy as np
from flint import arb, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.spectral import (
    SHAPES,
    draw_design,
    entropy,
    identity,
    log2,
    precisely,
    rank_power,
    variance,
)
from sparselin.ledger import EMPIRICAL, FALSE, HOLDS, claim, mutants

COMMAND = "python -m proofs_checks.experiments.diversity --data mnist --seed 0"
MNIST = f"MNIST is not part of this check; the run with it ({COMMAND}, 2026-11-21) has this result"
PROTOCOL = (
    "The sentence is about 1000 images of MNIST. This check uses samples of 300 of scikit-learn's digits, "
    "with columns of pixels and labels scaled to length 1 and not centred. k is 5, 10 or 15, σ = 0.1, and "
    "choose_nu gives ν. The search GLS may select fewer than k features."
)
NUMBER = "Section 6, Figure 1"
HALF, TENTH = fmpq(1, 2), fmpq(1, 10)


@claim(
    "SR-figure-1-scale",
    "Section 6, Figure 1(c)-(f)",
    "interval, exact, proof",
    HOLDS,
    cases=1500,
    ci_cases=60,
)
@mutants("entropy", "rank_power", "variance")
@precisely()
def test_scale_of_the_diversity_plots(check):
    """Divided by their largest values possible for k, the regularizers of k features are at most 1.

    Hypotheses: The sets have exactly k unit vectors.

    Consequences: With the constant 3k log₂(1/δ) in the smoothed entropy f_de, the values for δ = 0.1 are
    above 0.657, although the axis of Figure 1(d) begins at 0.4. The values of the spectral variance f_sv are
    above 8/9.

    Unchecked: The printed curves themselves are not checked.

    Tolerance: Values are computed in ball arithmetic with 128 bits. In the cases of equality, the balls
    overlap.
    """
    check.over(range(1, 12), attained)
    draws = ((int(check.rng.integers(1, 6)), SHAPES) for _ in range(check.cases))
    check.over(((draw_design(check.rng, k, shapes).correlations, k) for k, shapes in draws), between)


def values(C, S, k):
    """Return four regularizers of a set: the smoothed entropy for δ = 1 and 0.1, the spectral variance, the
    generalized rank.

    The generalized rank has α = ½.
    """
    return [
        entropy(C, S, fmpq(1), k),
        entropy(C, S, TENTH, k),
        arb(variance(C, S, k)),
        rank_power(C, S, HALF),
    ]


def largest(k):
    """Return the values of four regularizers for k orthonormal columns, by their closed forms.

    They are the smoothed entropy for δ = 1 and 0.1, the spectral variance, and the generalized rank for α =
    ½.
    """
    return [k * log2(2), k * log2(1 + TENTH) + 3 * k * log2(10), arb(9 * k * k), arb(k)]


def smallest(k):
    """Return the values of four regularizers for k copies of one unit column, by their closed forms.

    They are the smoothed entropy for δ = 1 and 0.1, the spectral variance, and the generalized rank for α =
    ½.
    """
    return [log2(1 + k), log2(TENTH + k) + (2 * k + 1) * log2(10), arb(8 * k * k + k), arb(k).sqrt()]


def attained(k):
    """Return whether four regularizers attain their largest and smallest values at the sets where they
    should.

    The largest values are for k orthonormal columns, and the smallest for k copies of a column. The smallest
    must be more than 0.657 of the largest for the smoothed entropy with δ = 0.1, and more than 8/9 for the
    spectral variance.
    """
    copies, S = fmpq_mat(k, k, [1] * (k * k)), range(k)
    pairs = zip(values(identity(k), S, k) + values(copies, S, k), largest(k) + smallest(k), strict=True)
    _, entropies, variances, _ = (low / high for low, high in zip(smallest(k), largest(k), strict=True))
    return (
        all(a.overlaps(b) for a, b in pairs)
        and entropies > arb(fmpq(657, 1000))
        and variances > arb(fmpq(8, 9))
    )


def between(value):
    """Return whether four regularizers of k unit columns lie between their values for copies and for
    orthonormal columns.
    """
    C, k = value
    bounds = zip(values(C, range(k), k), largest(k), smallest(k), strict=True)
    return all(not v > top and not v < bottom for v, top, bottom in bounds)


# The experiment on digits. A cell: a sample of images, k, and a regularizer.


@functools.cache
def digits():
    """Return the images of scikit-learn's digits (1797, 64), and their labels."""
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def sampled(rng, n=300):
    """Return a random sample of n images of digits: X with columns of length 1 or 0, and y of length 1."""
    images, labels = digits()
    rows = rng.choice(len(labels), n, replace=False)
    X, y = images[rows], labels[rows].astype(float)
    lengths = np.linalg.norm(X, axis=0)
    return X / np.where(lengths > 0, lengths, 1), y / np.linalg.norm(y)


def regularizer(name, k):
    """Return one of the four regularizers of Figure 1, and the name of the search that the figure shows for
    it.

    The paper does not print the exponent α of the generalized rank, "gr"; here α = ½.
    """
    return {
        "ld": (sl.spectral.SmoothedDifferentialEntropy(1.0, k), "forward"),
        "ld-0.1": (sl.spectral.SmoothedDifferentialEntropy(0.1, k), "greedy_local_search"),
        "sv": (sl.spectral.SpectralVariance(k), "greedy_local_search"),
        "gr": (sl.spectral.GeneralizedRank(0.5), "forward"),
    }[name]


def fitted(X, y, S):
    """Return the coefficients α = X_S⁺y of least squares on S."""
    return np.linalg.lstsq(X[:, S], y, rcond=None)[0]


def explained(X, y, S):
    """Return R²(S), the squared length of the projection of y onto the columns in S, for a y of length 1."""
    return 1 - np.linalg.norm(y - X[:, S] @ fitted(X, y, S)) ** 2


def lasso(X, y, k):
    """Return the features of the last solution on the Lasso path with at most k features, and the R² of this
    solution.
    """
    path = sl.lasso_path(X, y, max_steps=8 * k + 16)
    end = next(i for i, active in enumerate(path.active) if len(active) > k)
    return sorted(path.active[end - 1]), 1 - np.linalg.norm(y - X @ path.coef[end]) ** 2


def selections(rng, names):
    """Return a random sample of digits X, y, a size k, the name of a regularizer, and three selections of
    features.

    The selections are those of the Lasso, of greedy forward regression without a regularizer, and of the
    search with the regularizer.
    """
    X, y = sampled(rng)
    k, name = int(rng.choice([5, 10, 15])), str(rng.choice(names))
    f, search = regularizer(name, k)
    S_lasso, r2 = lasso(X, y, k)
    choice = sl.choose_nu(X, y, k, f, method=search)
    S = [int(j) for j in choice.selection.support]
    fit = explained(X, y, S)
    legal = 0 < len(set(S)) == len(S) <= k and choice.qualifies != "none"
    if not (legal and fit >= r2 - 1e-9 and abs(fit - choice.selection.r2) < 1e-9):
        raise ValueError(f"no selection by the rule: {name}, k = {k}, {S}")
    greedy = [int(j) for j in sl.forward_regression(X, y, k).support]
    return X, y, k, name, {"lasso": S_lasso, "no-reg": greedy, name: S}


def moved(X, y, S, sigma, rng, what, repeats=5):
    """Return the mean length of the change of the coefficients on S when y or X is perturbed as in Section 6.

    `what` is "y" or "X", and the mean is over `repeats` draws of the noise.
    """
    total = 0.0
    for _ in range(repeats):
        eta, E = rng.standard_normal(len(y)), rng.standard_normal(X.shape)
        if what == "y":
            noisy = fitted(X, y + sigma * eta / np.linalg.norm(eta), S)
        else:
            noisy = fitted(X + sigma * E / np.linalg.norm(E, axis=0), y, S)
        total += float(np.linalg.norm(noisy - fitted(X, y, S)))
    return total / repeats


NAMES = ("ld", "ld-0.1", "sv", "gr")


def on_digits(id, number, on_mnist, cases=60):
    """Mark a check as the ledger's row for a sentence of Section 6 that is checked on digits.

    The results for MNIST, which the check does not use, are stated among the consequences.
    """
    texts = {"hypotheses": PROTOCOL, "consequences": MNIST + on_mnist}
    return claim(id, number, "float", EMPIRICAL, cases=cases, ci_cases=2, **texts)


def orders(check, what):
    """Report how often regularization reduces the error of the coefficients below the error of greedy
    selection.

    Also report how often the error of greedy selection is below that of the Lasso. `what` is "y" or "X", the
    data that are perturbed.
    """
    below, greedy, ratios, bounded = 0, 0, [], True
    for _ in range(check.cases):
        X, y, _, name, S = selections(check.rng, NAMES)
        seed = int(check.rng.integers(1 << 30))
        # the same noise for every method
        error = {m: moved(X, y, T, 0.1, np.random.default_rng(seed), what) for m, T in S.items()}
        below += error[name] < error["no-reg"]
        greedy += error["no-reg"] < error["lasso"]
        ratios.append(error[name] / error["no-reg"])
        traces = [(np.linalg.norm(np.linalg.pinv(X[:, T])) ** 2, len(T)) for T in S.values()]
        bounded = bounded and all(trace >= t * (1 - 1e-9) for trace, t in traces) and min(error.values()) > 0
    median = float(np.median(ratios))
    right = bounded and below >= 0.5 * check.cases and 0 < median < 1
    check.tally(check.cases, int(not right), f"{below} of {check.cases}, median ratio {median:.2f}")
    check.measured(
        f"digits: regularized below greedy in {below} of {check.cases} cells, median ratio {median:.2f}; "
        f"greedy below lasso in {greedy}"
    )


@on_digits(
    "SR-figure-1a",
    NUMBER + "(a)",
    ": the errors have the order of the sentence. The regularized error is below greedy's in 32 of 32 cells "
    "(median ratio 0.60), and greedy's is below lasso's in 9 of 9; both grow with every k. No k unit columns "
    "have an expected error below σ√(k/n), and the regularized errors are close to this bound. From k = 10 "
    "to 90 the regularized errors grow by a factor of 4 (the bound by 3, lasso's error by 3.2, greedy's by "
    "4.3). In absolute terms they rise half as much as lasso's and greedy's. With seeds 1 to 4 the counts "
    "are all of 34, 31, 30, 30, and 9, 9, 8, 9 of 9 (selections of fewer than k features are left out). On "
    "all 1797 digits (--data digits) greedy's error is below lasso's at only 2 of 8 k.",
)
@mutants("sl.choose_nu", "moved")
def test_error_when_the_target_is_perturbed(check):
    """If the target is perturbed, the error ‖α − α'‖ of the coefficients is largest for the Lasso and grows
    with the number k of features. The error is smaller for greedy selection without a regularizer. With every
    regularizer it is much smaller, and increases only mildly.

    Unchecked: This check does not use MNIST. It does not use other σ than 0.1, because the error is
    proportional to σ.

    Tolerance: The bound σ²k/n on the expected squared error has a relative tolerance of 1e-9, which exceeds
    the rounding error of a pseudoinverse of condition number 1e3. All other comparisons are between means of
    five draws of the noise.
    """
    orders(check, "y")


@on_digits(
    "SR-figure-1b",
    NUMBER + "(b)",
    ": the regularized error is below greedy's in 28 of 32 cells, all except those of k = 10 (median ratio "
    "0.54), and greedy's is below lasso's in 9 of 9. With seeds 1 to 4 the counts are 34 of 34, 27 of 31, 26 "
    "of 30, 26 of 30, and 8, 9, 8, 6 of 9. The errors are six times smaller than printed: at most 0.11, "
    "while the axis of (b) ends at 0.7. On all 1797 digits greedy's error is below lasso's at only 1 of 8 k.",
)
@mutants("sl.choose_nu", "moved")
def test_error_when_the_features_are_perturbed(check):
    """If the features are perturbed, the error ‖α − α'‖ of the coefficients is smallest for the regularized
    selection, larger for greedy selection, and largest for the Lasso.

    Unchecked: This check does not use MNIST. It does not explain why the printed errors are larger.

    Tolerance: The comparisons are between means of five draws.
    """
    orders(check, "X")


def normalised(X, S, name, k):
    """Return a regularizer of the set S divided by its largest value for k unit columns.

    The regularizer is the spectral variance ("sv"), the generalized rank with α = ½ ("gr"), or the smoothed
    entropy with δ = 1 ("ld") or 0.1.
    """
    values = np.linalg.eigvalsh(X[:, S].T @ X[:, S])
    if name == "sv":
        return 1 - ((values - 1) ** 2).sum() / (9 * k * k)
    if name == "gr":
        return np.sqrt(np.maximum(values, 0)).sum() / k
    delta = 1.0 if name == "ld" else 0.1
    constant = -3 * k * np.log2(delta)
    return (np.log2(delta + values).sum() + constant) / (k * np.log2(1 + delta) + constant)


@on_digits(
    "SR-figure-1-diversity",
    NUMBER + "(c)-(f)",
    ": the regularized selection is the most diverse in 64 of 64 comparisons, and also with seeds 1 to 4 and "
    "with --refitted. It is diverse because of rare pixels: at k = 90 about half of the regularized features "
    "(lasso's 4 %, greedy's 12 %) are pixels that are zero in more than 99 % of the images, and these hardly "
    "correlate with any other pixel. The least values, which are lasso's, are 0.568, 0.856, 0.951 and 0.672, "
    "while the printed axes begin at 0.55, 0.4, 0.93 and 0.65. So the values of (c), (e) and (f) "
    "are near the printed ones, with α = ½. Those of (d), with the constant 3k log₂(1/δ), are not.",
)
@mutants("sl.choose_nu", "normalised")
def test_regularized_selections_are_more_diverse(check):
    """The regularized selection is more diverse than the selections of the Lasso and of greedy selection for
    every number k of features. This holds for each of the four diversity values of Figure 1(c)-(f).

    Unchecked: This check does not use MNIST.

    Tolerance: The values, which are at most 1, have a tolerance of 1e-9.
    """
    above = 0
    for _ in range(check.cases):
        X, _, k, name, S = selections(check.rng, NAMES)
        # GLS may select fewer than k features: then the values for their number are compared
        value = {m: normalised(X, T[: len(S[name])], name, len(S[name])) for m, T in S.items()}
        sound = all(0 <= v <= 1 + 1e-9 for v in value.values())
        check.tally(1, int(not sound), f"{name}, k = {k}: {value}")
        above += value[name] >= max(value["lasso"], value["no-reg"]) - 1e-9
    check.tally(check.cases, int(above < 0.75 * check.cases), f"{above} of {check.cases}")
    check.measured(f"digits: the regularized selection is the most diverse in {above} of {check.cases} cells")


def averages(value, k):
    """Return, for j = 1, …, k, the mean of a set function over the subsets of j elements of {0, …, k − 1}."""
    sizes = [list(itertools.combinations(range(k), j)) for j in range(1, k + 1)]
    return [sum((value(S) for S in sets), arb(0)) / len(sets) for sets in sizes]


def normalised_values(C, S, k):
    """Return four regularizers of the set S, each divided by its largest value for k unit columns.

    They are the smoothed entropy for δ = 1 and 0.1, the spectral variance, and the generalized rank for α =
    ½.
    """
    return [v / top for v, top in zip(values(C, S, k), largest(k), strict=True)]


def greedy_curve():
    """Return the normalised smoothed entropy, δ = 1, of greedy selections on all 1797 digits, for k = 5, 10,
    …, 40.
    """
    images, labels = digits()
    lengths = np.linalg.norm(images, axis=0)
    X, y = images / np.where(lengths > 0, lengths, 1), labels / np.linalg.norm(labels)
    order = [int(j) for j in sl.forward_regression(X, y, 40).support]
    return [float(normalised(X, order[:k], "ld", k)) for k in range(5, 45, 5)]


@claim(
    "SR-figure-1-trend",
    "Section 6, last paragraph",
    "interval, exact, proof, float",
    FALSE,
    consequences=MNIST
    + ": lasso's curve increases in 28 of 32 steps, in (c), (d) and (f) from k = 20 or 30 on. Greedy's curve "
    "decreases in (c), (d) and (f) (from 0.871 to 0.755, 0.961 to 0.922, 0.912 to 0.822) and increases in "
    "(e), in 7 of 32 steps in all. Seeds 1 to 4 give the same result.",
    cases=300,
    ci_cases=6,
)
@mutants("entropy", "rank_power", "variance", "averages", "greedy_curve")
@precisely()
def test_trend_of_the_normalised_values(check):
    """The curves of the Lasso and of greedy selection in Figure 1(c)-(f) increase with the number k of
    features because the plotted diversity is normalised. Normalised means divided by the largest value
    possible for k.

    Hypotheses: The columns have length 1. The printed curves are for 1000 MNIST images.

    Instead: Normalisation makes the values decrease. Over the subsets of any set of unit columns, the mean of
    each of the four normalised values decreases with the size of the subsets. If a curve increases, the later
    features are less correlated than the first ones.

    Unchecked: The printed curves are not checked.

    Tolerance: Values are computed in ball arithmetic with 128 bits. The curve on digits decreases by 0.13,
    and its rounding error is below 1e-9.
    """
    # (1, 0), (3/5, 4/5), (4/5, 3/5)
    C = fmpq_mat(3, 3, [fmpq(v, 25) for v in (25, 15, 20, 15, 25, 24, 20, 24, 25)])
    check.refutes(
        all(a > b for a, b in steps(C, 3)),
        "(1, 0), (3/5, 4/5), (4/5, 3/5): the averages over one, two and three of them decrease in all "
        "four panels",
    )
    curve = greedy_curve()
    check.refutes(
        curve[0] - curve[-1] > 0.1 and min(curve) > 0 and max(curve) < 1,
        "greedy selection on scikit-learn's 1797 digits, (c): 0.73 at k = 5, 0.60 at k = 40",
    )
    draws = ((int(check.rng.integers(1, 5)), SHAPES) for _ in range(check.cases))
    designs = ((draw_design(check.rng, k, shapes).correlations, k) for k, shapes in draws)
    check.over(designs, lambda design: not any(a < b for a, b in steps(*design)))


def steps(C, k):
    """Return pairs of means of four normalised regularizers, over the sets of j features and over those of j
    + 1.
    """
    lines = [averages(lambda S, i=i: normalised_values(C, S, len(S))[i], k) for i in range(4)]
    return [step for line in lines for step in itertools.pairwise(line)]


@on_digits(
    "SR-figure-1-choice",
    "Section 6, footnote 5",
    ": R² is at least the R² of lasso's own, shrunk coefficients in 32 of 32 cells, and at least that of "
    "least squares on lasso's features in 1 of 32. It is below greedy's by 0.045 in the median. At k = 10, "
    "where every ν qualifies, it is below greedy's by 0.187 (0.641; lasso 0.586 with shrunk coefficients and "
    "0.788 refitted; greedy 0.828). With --refitted the claims of (a) to (f) are confirmed too, and R² is "
    "below greedy's by 0.025 in the median. With X perturbed the order holds in 37, 37, 37, 33, 22 of 41 "
    "comparisons for σ = 0.01, 0.03, 0.1, 0.3, 1. With y perturbed it is the same for all σ.",
    cases=40,
)
@mutants("sl.choose_nu", "moved", "lasso")
def test_no_loss_of_fit(check):
    """In all cases the regularized search finds features that are more robust to noise at no loss of fit:
    their R² is at least that of the Lasso. The results for other noise levels σ are similar.

    Unchecked: This check does not use MNIST. It does not decide whether a weight ν of the regularizer above
    those that were tried has the same property.

    Tolerance: R² ≤ 1 has a tolerance of 1e-9. Errors proportional to σ have a relative tolerance of 1e-9.
    """
    below = refitted = 0
    for _ in range(check.cases):
        X, y = sampled(check.rng)
        k = int(check.rng.choice([5, 10, 15]))
        f, search = regularizer("ld", k)
        S_lasso, r2 = lasso(X, y, k)
        choice = sl.choose_nu(X, y, k, f, method=search)
        S = [int(j) for j in sl.forward_regression(X, y, k, regularizer=f, nu=choice.nu).support]
        beyond = sl.forward_regression(X, y, k, regularizer=f, nu=min(choice.upper, 1e9)).support
        right = explained(X, y, S) >= r2 - 1e-9 and abs(choice.r2_lasso - r2) < 1e-9
        right = right and (choice.upper == np.inf or explained(X, y, beyond) < r2 + 1e-9)
        seed = int(check.rng.integers(1 << 30))
        small, large = (moved(X, y, S, sigma, np.random.default_rng(seed), "y") for sigma in (0.1, 1.0))
        right = right and small > 0 and abs(large - 10 * small) <= 1e-9 * large
        check.tally(1, int(not right), f"k = {k}, ν = {choice.nu}")
        greedy = [int(j) for j in sl.forward_regression(X, y, k).support]
        refitted += explained(X, y, S) >= explained(X, y, S_lasso) - 1e-9
        noise = [moved(X, y, T, 0.3, np.random.default_rng(seed), "X") for T in (S, greedy)]
        below += noise[0] < noise[1]
    check.measured(
        f"digits, ld: R² at least lasso's own in {check.cases} of {check.cases} cells, at least that of "
        f"least squares on its features in {refitted}; with X perturbed at σ = 0.3 below greedy in {below}"
    )
