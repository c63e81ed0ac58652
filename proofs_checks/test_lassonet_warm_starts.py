"""Sentences of the LassoNet paper on what saves time: warm starts, and training on the selected features.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 4.3, 4.4 and 5.2.

For M = 0 LassoNet is the Lasso, min ½‖y − Xβ‖² + λ‖β‖₁, and its training is proximal gradient descent. These
checks count the steps of such descents on scikit-learn's diabetes data with columns of noise. They are
experiments: they say how often a start saves steps on these data, and prove nothing about networks.
"""

import functools

import numpy as np

import sparselin as sl
from sparselin.ledger import EMPIRICAL, claim, mutants

# --- refitting -------------------------------------------------------------------------------------------


@functools.cache
def diabetes():
    """Return scikit-learn's diabetes data, X (442, 10) and y (442,)."""
    from sklearn.datasets import load_diabetes

    return load_diabetes(return_X_y=True)


def refitted(X, y, S):
    """Return the coefficients of y on all columns of X that are zero outside S and given by least squares on
    S.
    """
    beta = np.zeros(X.shape[1])
    beta[S] = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    return beta


def lassos_on_diabetes(rng):
    """Yield the diabetes data, the training rows, the test rows, and the Lasso's β at each knot of the path.

    The path is on the training rows. X has 10 additional columns of noise. The means of the training rows are
    subtracted.
    """
    X, y = diabetes()
    X = np.hstack([X / X.std(axis=0), rng.standard_normal(X.shape)])
    train, test = np.split(rng.permutation(len(y)), [len(y) // 2])
    X, y = X - X[train].mean(axis=0), y - y[train].mean()
    path = sl.lasso_path(X[train], y[train])
    for lam in path.knots[1:-1]:
        yield X, y, train, test, path.at(lam)


def errors_along_the_path(rng):
    """Yield, at each knot of a Lasso path on the diabetes data, the number of features and the errors of two
    models.

    The models are the Lasso and least squares on the Lasso's features. Each has a training error and a test
    error.
    """
    for X, y, train, test, beta in lassos_on_diabetes(rng):
        both = beta, refitted(X[train], y[train], np.flatnonzero(beta))
        yield (
            np.count_nonzero(beta),
            *([float(np.mean((y[rows] - X[rows] @ b) ** 2)) for b in both] for rows in (train, test)),
        )


@claim("LN-sec-4.4-refit", "section 4.4", "float", EMPIRICAL, cases=100, ci_cases=2)
@mutants("refitted")
def test_refitting_helps_few_features(check):
    """Least squares on the features that the Lasso selects, if these are at most 5, has a smaller test error
    than the Lasso more often than not.

    Reading of: “In practice, this re-fitting tends to improve test-time performance”

    Hypotheses: M = 0, for which LassoNet is the Lasso (section 3.2), and the refit is least squares. The data
    are scikit-learn's diabetes data with 10 more features of Gaussian noise. For each path, a random half of
    the rows is the test set. The comparison is made at the knots of the path.

    Consequences: With more than 5 features, noise among them, refitting raises the test error more often than
    not, although it never raises the training error.

    Unchecked: Networks are not checked. Our records of LassoNet have the accuracy of networks that are
    trained again on the selected features, but not the accuracy of the network that selected them.

    Tolerance: Training errors are compared with a relative tolerance of 1e-9.
    """
    found = [cell for _ in range(check.cases) for cell in errors_along_the_path(check.rng)]
    check.over(found, lambda cell: cell[1][1] <= cell[1][0] * (1 + 1e-9))
    lower = {
        few: [cell[2][1] < cell[2][0] for cell in found if (cell[0] <= 5) == few] for few in (True, False)
    }
    check.over([lower], lambda lower: np.mean(lower[False]) < 0.5 < np.mean(lower[True]))
    check.measured(
        f"the refit has the lower test error at {np.mean(lower[True]):.0%} of {len(lower[True])} knots with "
        f"at most 5 features, and at {np.mean(lower[False]):.0%} of {len(lower[False])} with more"
    )


NEAR = 1e-3


def steps_to_the_refit(X, y, beta):
    """Return the number of steps of gradient descent from β until ‖y − Xβ‖² is within 1/1000 of its least
    value.
    """
    G, c = X.T @ X, X.T @ y
    rate, least = 1 / np.linalg.norm(G, 2), sum_of_squares(X, y, np.linalg.lstsq(X, y, rcond=None)[0])
    steps = 0
    while sum_of_squares(X, y, beta) > least * (1 + NEAR):
        beta, steps = beta - rate * (G @ beta - c), steps + 1
    return steps


def sum_of_squares(X, y, beta):
    """Return the sum of squares ‖y − Xβ‖²."""
    return float(np.sum((y - X @ beta) ** 2))


def excess(X, y, beta, steps):
    """Return the relative excess of ‖y − Xβ‖² over its least value after some steps of gradient descent from
    β.

    It is computed from the eigenvalues of XᵀX, without making the steps.
    """
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    levels, V = np.linalg.eigh(X.T @ X)
    errors = (V.T @ (beta - best)) * (1 - levels / levels[-1]) ** steps
    return float(np.sum(levels * errors**2)) / sum_of_squares(X, y, best)


@claim("LN-sec-4.4-previous", "section 4.4", "float", EMPIRICAL, cases=100, ci_cases=2)
@mutants("steps_to_the_refit")
def test_the_previous_model_as_initialization(check):
    """Training on the selected features takes fewer steps of gradient descent if it starts at the
    coefficients of the Lasso than if it starts at 0, more often than not.

    Reading of: “the training time of the reduced model is relatively light if one uses the previous (biased)
    model as initialization in the gradient descent”

    Hypotheses: M = 0, for which LassoNet is the Lasso. The data are scikit-learn's diabetes data with 10 more
    features of Gaussian noise, at the knots of a Lasso path. The time is the number of steps until the sum of
    squares is within 1/1000 of its least value. The steps have the length 1/L, where L is the largest
    eigenvalue of XᵀX.

    Consequences: The sentence in the paper is about training that begins at the previous model. It does not
    apply to training from scratch, which section 4.4 proposes and section 5.2 reports.

    Unchecked: Networks are not checked.

    Tolerance: The relative excess of the sum of squares over its least value has a tolerance of 1e-9.
    """

    def ends_there(case):
        X, y, beta, steps = case
        return excess(X, y, beta, steps) <= NEAR + 1e-9 and (
            steps == 0 or excess(X, y, beta, steps - 1) > NEAR - 1e-9
        )

    taken = []
    for X, y, train, _, beta in (
        lasso for _ in range(check.cases) for lasso in lassos_on_diabetes(check.rng)
    ):
        A, b, S = X[train], y[train], np.flatnonzero(beta)
        runs = [
            (A[:, S], b, start, steps_to_the_refit(A[:, S], b, start)) for start in (beta[S], 0 * beta[S])
        ]
        check.over(runs, ends_there)
        taken.append([run[-1] for run in runs])
    previous, scratch = np.transpose(taken)
    check.over([(previous, scratch)], lambda both: np.mean(both[0] < both[1]) > 0.5)
    check.measured(
        f"fewer steps from the previous model at {np.mean(previous < scratch):.0%} of {len(taken)} knots, "
        f"more at {np.mean(previous > scratch):.0%}; {previous.sum() / scratch.sum():.0%} as many altogether"
    )


# --- warm starts -----------------------------------------------------------------------------------------


FACTOR = 1.02
"""The factor between successive λ, the default of the released code."""


def steps_to_the_lasso(X, y, lam, beta):
    """Return the β at which proximal gradient descent from β ends, and the number of its steps.

    It ends once the duality gap is at most 1/1000 of ½‖y‖². The dual point is the residual r, scaled such
    that |X_jᵀu| ≤ λ: the gap is ½‖r‖² + λ‖β‖₁ − ½‖y‖² + ½‖y − u‖².
    """
    rate, steps = 1 / np.linalg.norm(X, 2) ** 2, 0
    while True:
        r = y - X @ beta
        c = X.T @ r
        u = r * min(1.0, lam / max(abs(c).max(), lam))
        gap = (r @ r - y @ y + (y - u) @ (y - u)) / 2 + lam * abs(beta).sum()
        if gap <= NEAR * (y @ y) / 2:
            return beta, steps
        beta, steps = beta + rate * c, steps + 1
        beta = np.sign(beta) * np.maximum(abs(beta) - rate * lam, 0)


@claim("LN-sec-4.3-warm", "section 4.3", "float", EMPIRICAL, cases=40, ci_cases=1)
@mutants("steps_to_the_lasso")
def test_warm_starts(check):
    """Warm starts reduce the number of steps of gradient descent to less than a fifth of the number from
    either cold start: the dense solution, and 0.

    Reading of: “The use of warm starts dramatically reduces the number of rounds of gradient descent needed
    during each iteration, as the solution with penalty λ is often very similar to the solution with penalty
    (1 + ε)λ”

    Hypotheses: M = 0, for which LassoNet is the Lasso; the steps are those of proximal gradient descent. λ
    increases by the factor 1.02 from λ*/50 to λ*, the λ from which on the Lasso is 0. A descent ends once the
    duality gap is at most 1/1000 of ½‖y‖². The dense start is least squares on all columns.

    Unchecked: Networks are not checked.

    Tolerance: The objective at the end of each descent exceeds that of the exact Lasso by at most the gap of
    1/1000 of ½‖y‖², and is below it by at most 1e-9 of ½‖y‖².
    """

    def ends_at_the_lasso(run):
        X, y, lam, exact, beta = run
        excess = objective(X, y, lam, beta) - objective(X, y, lam, exact)
        return -1e-9 <= excess / (y @ y / 2) <= NEAR

    taken = []
    for _ in range(check.cases):
        X, y, train, _, _ = next(lassos_on_diabetes(check.rng))
        A, b = X[train], y[train]
        path, top = sl.lasso_path(A, b), abs(A.T @ b).max()
        dense = np.linalg.lstsq(A, b, rcond=None)[0]
        warm = dense
        for lam in top / 50 * FACTOR ** np.arange(int(np.log(50) / np.log(FACTOR))):
            starts = warm, dense, 0 * dense
            ends = [steps_to_the_lasso(A, b, lam, start) for start in starts]
            check.over([(A, b, lam, path.at(lam), beta) for beta, _ in ends], ends_at_the_lasso)
            warm = ends[0][0]
            taken.append([steps for _, steps in ends])
    totals = np.sum(taken, axis=0)
    check.over([totals], lambda t: t[0] < t[1] / 5 and t[0] < t[2] / 5)
    check.measured(
        f"the steps from the previous λ are {totals[0] / totals[1]:.1%} of those from the dense start, and "
        f"{totals[0] / totals[2]:.1%} of those from 0, over {len(taken)} values of λ"
    )


def objective(X, y, lam, beta):
    """Return ½‖y − Xβ‖² + λ‖β‖₁."""
    return float(np.sum((y - X @ beta) ** 2) / 2 + lam * abs(beta).sum())
