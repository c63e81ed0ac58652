"""Sentences of the LassoNet paper on filters, the cost of other methods, imputation, and two formulas.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 1.2, 4.1, 5.1 and 7,
Figure 4 and Appendix A; its code at https://github.com/lasso-net/lassonet.

*Filters.* A score of a single feature is a function of the joint frequencies of this feature and y. Let the
rows be all vectors in {−1, 1}^d, and let y be the product of m ≥ 2 of the d features. Then each feature is
independent of y, whether or not it is a factor of y. Therefore every such score is the same for all d
features. Now consider a score of a set S of features, the maximum mean discrepancy of the two classes with
the kernel (1 + ⟨x_S, z_S⟩)^m. To expand it, take all products of at most m features of S. The discrepancy is
a weighted sum over these products: the two class means of a product are subtracted and the difference is
squared. So it is positive if S contains all m factors of y, and 0 otherwise.

*Imputation.* Let a column Z_j be predicted from the other columns. The predictor with the least mean squared
error is the conditional mean E[Z_j | other columns]. An affine predictor has the same error if and only if
this mean is an affine function of the other columns. On the circle x² + y² = 25 the conditional mean is 0, by
symmetry, so that no predictor of x from y is better than a constant.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
from hypothesis import strategies as st

from proofs_checks.rational import fraction, inner, least_squares, rational, rational_of, vector
from sparselin.ledger import FALSE, HOLDS, MISPRINT, NEEDS_DATA, OPEN, claim, claims, mutants


def mean(values):
    """Return the mean of the values as an exact fraction."""
    values = list(values)
    return Fraction(sum(values)) / len(values)


def fisher_score(x, y):
    """Return the Fisher score Σ n_c(μ_c − μ)²/Σ n_cσ_c² of a feature x for the classes y.

    The sums are over the classes c with n_c rows, mean μ_c and variance σ_c². μ is the mean of all rows. Some
    variance must be positive.
    """
    classes = [[a for a, c in zip(x, y, strict=True) if c == name] for name in sorted(set(y))]
    between = sum(len(part) * (mean(part) - mean(x)) ** 2 for part in classes)
    return between / sum((a - mean(part)) ** 2 for part in classes for a in part)


def discrepancy(rows, y, S, degree):
    """Return the squared maximum mean discrepancy of two classes, y = −1 and y = 1, on the features in S.

    The kernel is (1 + ⟨x_S, z_S⟩)^degree.
    """
    first, other = ([row for row, c in zip(rows, y, strict=True) if c == name] for name in (-1, 1))

    def kernel(A, B):
        return mean((1 + sum(a[j] * b[j] for j in S)) ** degree for a in A for b in B)

    return kernel(first, first) + kernel(other, other) - 2 * kernel(first, other)


def signs_and_product(d, group):
    """Return all rows in {−1, 1}^d, and for each row the product of the features in `group`."""
    rows = list(product((-1, 1), repeat=d))
    return rows, [prod(row[j] for j in group) for row in rows]


@claim("LN-sec-1.2-filters", "section 1.2", "proof, exact", HOLDS)
@mutants("fisher_score", "discrepancy")
def test_filters_and_interactions(check):
    """A filter that evaluates individual features does not detect features that predict y only together with
    other features. Each such feature has the same joint frequencies with y as a feature without influence on
    y, and the Fisher score 0.

    Reading of: “since filter methods evaluate individual features, they generally do not detect features that
    participate mainly in interactions with other features”

    Hypotheses: A filter is a score of one feature and y. The rows are all 2^d rows of d ≤ 4 signs ±1, and y
    is the product of m ≥ 2 of the signs.

    Consequences: If each feature also predicts y by itself, as for y = min(x_1, x_2), its Fisher score is
    positive. A filter that evaluates sets of features, for example by the maximum mean discrepancy, detects
    the m features together: the discrepancy of a set is positive if and only if the set has all m features.
    """
    rows, y = signs_and_product(2, (0, 1))
    found = [discrepancy(rows, y, S, 2) for S in ([0], [1], [0, 1])]
    check.over([found], lambda found: found == [0, 0, 8])
    check.over(
        [[min(row) for row in rows]], lambda y: fisher_score([a for a, _ in rows], y) == Fraction(1, 2)
    )

    def are_seen_only_together(d, group):
        rows, y = signs_and_product(d, group)
        columns = list(zip(*rows, strict=True))
        alike = all(set(Counter(zip(x, y, strict=True)).values()) == {len(rows) // 4} for x in columns)
        sets = [S for k in range(1, d + 1) for S in combinations(range(d), k)]
        together = all((discrepancy(rows, y, S, len(group)) > 0) == (set(group) <= set(S)) for S in sets)
        return alike and together and all(fisher_score(x, y) == 0 for x in columns)

    groups = [(d, group) for d in (2, 3, 4) for m in range(2, d + 1) for group in combinations(range(d), m)]
    check.over(groups, lambda case: are_seen_only_together(*case))


def fisher_selections(columns, y, sizes):
    """Return the k features with the largest Fisher scores for each k in `sizes`, and the number of computed
    scores.
    """
    scores = [fisher_score(x, y) for x in columns]
    ranking = sorted(range(len(scores)), key=lambda j: -scores[j])
    return [ranking[:k] for k in sizes], len(scores)


def drawn_table(rng):
    """Draw integer columns, each of which varies within a class, and the classes of the rows, 0 or 1."""
    y = [0, 0, 0, 1, 1, *map(int, rng.integers(0, 2, 3))]
    columns = [tuple(map(int, x)) for x in rng.integers(-3, 4, (int(rng.integers(1, 6)), len(y)))]
    return [(x[0] + 1, x[0], *x[2:]) for x in columns], y


@claim("LN-app-A-cost", "Appendix A", "exact, brute force", FALSE, cases=300, ci_cases=20)
@mutants("fisher_selections")
def test_one_ranking_serves_every_size(check):
    """For each method other than LassoNet, selecting features for several sizes k costs a multiple of
    selecting them for one k.

    Reading of: “for all methods other than LassoNet, the computational cost of producing these figures was
    multiples of that of producing the table. This is because most other feature selection methods … need to
    run from scratch for different values of k”

    Hypotheses: Of the three methods in the figures, the Fisher score is checked. Its cost is the number of
    scores that it computes. For each k, the check compares the selection with the set of k features that has
    the largest sum of scores, which it finds by trying all sets.

    Instead: The Fisher score selects for all k at the cost of one k: its scores do not depend on k, and the
    selection for k consists of the first k features of one ranking.

    Consequences: In the experiments the cost was a multiple nevertheless, because the released evaluate.py
    runs each of the three methods again for each of five k. After the selection the learners are trained for
    each k; this also applies to LassoNet.

    Unchecked: The times are not checked. The other methods: ledger id LN-app-A-most.
    """
    columns, y = [(0, 1, 4, 5), (0, 3, 1, 2), (2, 0, 3, 1)], [0, 0, 1, 1]
    selections, scored = fisher_selections(columns, y, (1, 2, 3))
    check.refutes(
        scored == 3 and [len(S) for S in selections] == [1, 2, 3],
        "three features, k = 1, 2 and 3: the Fisher score computes three scores for all k together",
    )

    def are_those_from_scratch(case):
        columns, y = case
        scores, sizes = [fisher_score(x, y) for x in columns], range(1, len(columns) + 1)
        selections, scored = fisher_selections(columns, y, sizes)
        most = [max(sum(scores[j] for j in S) for S in combinations(range(len(columns)), k)) for k in sizes]
        return scored == len(columns) and most == [sum(scores[j] for j in set(S)) for S in selections]

    check.over((drawn_table(check.rng) for _ in range(check.cases)), are_those_from_scratch)


@claim("LN-app-A-most", "Appendix A", "exact", OPEN)
def test_most_methods_run_from_scratch(check):
    """Most feature selection methods other than LassoNet take the number k of features as input, and need to
    run from scratch for each k.

    Reading of: “most other feature selection methods take as input k, the number of features to select, and
    need to run from scratch for different values of k”

    Hypotheses: "Most" is read as: two of the three methods in the figures.

    Consequences: The Fisher score need not run again (ledger id LN-app-A-cost). Principal feature analysis
    makes k clusters, so it needs a run for each k.

    Unchecked: HSIC-Lasso is not checked. Its path may contain the selections for smaller k, so it is open
    whether one or two of the three methods need a run for each k. Methods that are not in the figures are not
    checked either.
    """


FIGURE_4 = {
    "minimum": {"says": "LassoNet's test error is least with 13 features", "part": "left"},
    "true": {"says": "of the 13 features with the least test error 12 are true ones", "part": "left"},
    "dense": {
        "says": "the path from dense to sparse has a lower test error than that from sparse to dense",
        "part": "right, and section 4.1",
    },
}


@claims(FIGURE_4, "LN-fig-4", "Figure 4; section 4.1", "float", lambda part: NEEDS_DATA)
def test_boston_housing(check, part):
    """On Boston housing, with 13 features and 13 more of Gaussian noise, {says} (Figure 4, {part}).

    Hypotheses: The figure is for one split of the rows, which the paper does not state. The released
    boston_housing.py uses 10 hidden units, and tests on a random quarter of the rows.

    Unchecked: The sentence is not checked. In the simple case of M = 0 and the squared loss, LassoNet's
    problem is convex. Then a path from dense to sparse has the same solutions as a path from sparse to dense.
    """
    check.measured(
        "what decides it: the 506 rows of Boston housing, which are neither here nor in scikit-learn since "
        "1.2, several seeds for the noise and the split, and LassoNet's path from either end"
    )
    check.concludes(NEEDS_DATA)


# --- imputation ------------------------------------------------------------------------------------------


SENTINEL = -100_000


def by_column_means(column, classes):
    """Return a column whose missing values, None, are replaced by the mean of the known values.

    The released examples/miceprotein.py fills missing values in this way.
    """
    known = mean(x for x in column if x is not None)
    return [known if x is None else x for x in column]


def by_class_means(column, classes):
    """Return a column whose missing values, None, are replaced by the mean of the known values of the same
    class.

    The released examples/run_demo_mice.py fills missing values in this way.
    """
    known = {name: [x for x, c in zip(column, classes, strict=True) if c == name and x is not None]
             for name in classes}  # fmt: skip
    return [mean(known[c]) if x is None else x for x, c in zip(column, classes, strict=True)]


def with_the_sentinel(column, classes):
    """Return a column whose missing values, None, are replaced one after the other, by the mean of the class.

    The released experiments/data_utils.py fills missing values in this way. The mean is over all rows of the
    class. It includes the values that were filled before, and counts values that are still missing as
    −100,000.
    """
    filled = [SENTINEL if x is None else x for x in column]
    for i, x in enumerate(column):
        if x is None:
            filled[i] = mean(a for a, c in zip(filled, classes, strict=True) if c == classes[i])
    return filled


@claim("LN-sec-5.1-imputation", "section 5.1, footnote 4", "exact", NEEDS_DATA)
def test_missing_proteins(check):
    """Missing values of Mice Protein are filled with the mean of their column.

    Reading of: “This data set has a few missing values, which we impute by column-means”

    Hypotheses: 1,396 of 83,160 values are missing, in 49 of 77 columns. One of these columns lacks 285 of its
    1,080 values. Three files of the released code read the data and fill missing values in different ways.
    The paper does not say which file made its figures.

    Consequences: examples/miceprotein.py fills as the paper says. examples/run_demo_mice.py takes the mean
    over the known values of the same class (of genotype, treatment and behaviour, which is y). The file
    experiments/data_utils.py, which evaluate.py uses to compare methods, takes the mean of the class too, but
    in this mean it counts the missing value itself, and all later missing values, as −100,000. Our study
    `lassonet` follows data_utils.py. Our study `switches` can use the means of training rows instead.

    Unchecked: It is not known which of the three files made the printed figures.
    """
    fills = by_column_means, by_class_means, with_the_sentinel
    column, class_mean, sentinel = (float(fill([1, 3, None], "aba")[2]) for fill in fills)
    check.measured(
        f"the third of (1, 3, –) in the classes a, b, a becomes {column:g} by the mean of the column, "
        f"{class_mean:g} by that of the class, and {sentinel:,} by data_utils.py; what decides it: which "
        "file the authors ran"
    )
    check.concludes(NEEDS_DATA)


def conditional_error(points):
    """Return the mean squared error of the best prediction of the last coordinate from the others, the
    conditional mean.

    All points are equally likely.
    """
    groups = {point[:-1]: [other[-1] for other in points if other[:-1] == point[:-1]] for point in points}
    return mean((point[-1] - mean(groups[point[:-1]])) ** 2 for point in points)


def affine_error(points):
    """Return the least mean squared error of an affine prediction of the last coordinate from the other
    coordinates.

    All points are equally likely.
    """
    A = rational(np.array([[1, *point[:-1]] for point in points]))
    b = vector([rational_of(Fraction(point[-1])) for point in points])
    r = b - A * least_squares(A, b)
    return fraction(inner(r, r)) / len(points)


CIRCLE = [(x, y) for x in range(-5, 6) for y in range(-5, 6) if x * x + y * y == 25]
PARABOLA = [(x, x * x) for x in range(-2, 3)]


@claim("LN-sec-7-nonlinear", "section 7", "proof, exact", FALSE, cases=1000, ci_cases=60)
@mutants("conditional_error", "affine_error")
def test_nonlinear_structure(check):
    """If the data have a nonlinear structure of low dimension, LassoNet outperforms linear reconstruction.

    Reading of: “it may be more reasonable to expect an arbitrary nonlinear low-dimensional structure. If that
    is the case, LassoNet will outperform linear reconstruction”

    Hypotheses: One entry of a row is missing and is reconstructed from the other entries. The error is the
    mean squared error over equally likely rows. LassoNet's error cannot be smaller than that of the
    conditional mean.

    Instead: The best nonlinear reconstruction is never worse than the best affine one, and it is better if
    and only if the conditional mean of the missing entry is not affine in the others. On a circle the
    conditional mean is affine, so LassoNet cannot be better. On the points (x, x²), x = −2, …, 2, the errors
    of the best nonlinear and the best affine reconstruction of the second entry are 0 and 14/5.

    Consequences: For Mice Protein, with all proteins, our records do not show that LassoNet has a smaller
    error of imputation (ledger id LN-fig-10).

    Unchecked: It is not checked whether training finds the conditional mean, and how much overfitting costs.
    """
    errors = conditional_error(CIRCLE), affine_error(CIRCLE)
    check.refutes(
        errors == (Fraction(25, 2),) * 2 and len(CIRCLE) == 12,
        "the 12 integer points on x² + y² = 25: the mean is the best predictor of a coordinate, error 25/2",
    )
    check.over([PARABOLA], lambda rows: (conditional_error(rows), affine_error(rows)) == (0, Fraction(14, 5)))

    def is_better_unless_affine(rows):
        best, affine = conditional_error(rows), affine_error(rows)
        means = [(*row[:-1], mean(a[-1] for a in rows if a[:-1] == row[:-1])) for row in rows]
        excess = affine_error(means)
        return 0 <= best <= affine == best + excess

    entries = st.integers(-2, 2)
    check.forall(
        st.lists(st.tuples(entries, entries, entries), min_size=1, max_size=9), is_better_unless_affine
    )


def squared_norms(A):
    """Return the squared Frobenius norm and the squared spectral norm of a 2 × 2 matrix of integers.

    The square of the spectral norm is the larger root of t² − tr(AᵀA)t + det(A)². It is None if irrational.
    """
    trace, determinant = sum(a * a for row in A for a in row), A[0][0] * A[1][1] - A[0][1] * A[1][0]
    discriminant = trace**2 - 4 * determinant**2
    root = math.isqrt(discriminant)
    return Fraction(trace), Fraction(trace + root, 2) if root * root == discriminant else None


@claim("LN-sec-7-frobenius", "section 7", "exact", MISPRINT)
@mutants("squared_norms")
def test_the_norm_of_the_reconstruction(check):
    """In the reconstruction loss ‖X − Z‖_F² of matrix completion, ‖·‖₂ denotes the Frobenius norm.

    Hypotheses: ‖·‖₂ of a matrix is read as the norm that it usually denotes, the spectral norm.

    Instead: ‖·‖_F denotes the Frobenius norm, as in section 6; the loss has no ‖·‖₂. The two norms are equal
    if and only if the rank of the matrix is at most one.
    """
    check.refutes(squared_norms([[1, 0], [0, 1]]) == (2, 1), "the identity of size 2: ‖I‖_F² = 2, ‖I‖₂² = 1")

    def is_equal_up_to_rank_one(entries):
        a, b, c, d = entries
        frobenius, spectral = squared_norms([[a, b], [c, d]])
        return spectral is None or (frobenius == spectral) == (a * d == b * c)

    check.over(product(range(-3, 4), repeat=4), is_equal_up_to_rank_one)
