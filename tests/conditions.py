"""The bounds of `sl.condition` on random designs: `python -m tests.conditions --designs 10000`.

For each design the picks are computed again by textbook least squares, after changes of sizes just below
`lower`: random ones, and ones towards the witness. No pick may change. The witness of `upper` must be refuted
as a path by the certificates, or have a tie there, in rational arithmetic.
"""

import argparse
import collections
import sys
import time

import numpy as np

import sparselin as sl
from sparselin.ensembles import ENSEMBLES

OPTIONS = ({}, {"intercept": True}, {"intercept": True, "standardize": True}, {"forced": [0]})
METHODS = ("omp", "ols", "sequential_lasso", "lasso_path")
SMALLEST = 1e-9  # changes that are smaller are lost in the rounding errors of the textbook


def centred(X, intercept):
    return X - X.mean(axis=0) if intercept else X


def textbook_picks(X, y, support, first, by_length, intercept, standardize):
    """Return whether each pick of `support` is the strict maximum, by least squares on the picks before."""
    X = centred(X, intercept)
    y = centred(y, intercept)
    if standardize:
        norms = np.linalg.norm(X, axis=0)
        X = X / np.where(norms > 1e-12 * norms.max(), norms, np.inf)
    for t in range(first, len(support)):
        S = support[:t]
        Q = np.linalg.qr(X[:, S])[0]
        r = y - Q @ (Q.T @ y)
        score = np.abs(X.T @ r)
        if by_length:
            Z = X - Q @ (Q.T @ X)
            rho = np.linalg.norm(Z, axis=0)
            score = np.divide(
                score, rho, out=np.zeros_like(rho), where=rho > 1e-10 * np.linalg.norm(X, axis=0)
            )
        score[support[:t]] = -1
        if np.argmax(score) != support[t]:
            return False
    return True


def textbook_support(X, y, lam, A, signs, intercept, standardize):
    """Return whether the LASSO at λ still has the active set A and these signs, by the KKT conditions."""
    X = centred(X, intercept)
    y = centred(y, intercept)
    if standardize:
        X = X / np.where(X.std(axis=0) > 0, X.std(axis=0), np.inf)
    coef = np.linalg.solve(X[:, A].T @ X[:, A], X[:, A].T @ y - lam * signs)
    c = np.abs(X.T @ (y - X[:, A] @ coef))
    c[A] = 0
    return bool((signs * coef >= 0).all() and c.max(initial=0) <= lam)


def changes(rng, X, y, found, intercept, size, tries):
    """Yield changes of X and y of a size: random ones, and ones towards the witness."""
    lengths = np.linalg.norm(centred(X, intercept), axis=0)
    length = np.linalg.norm(centred(y, intercept))

    def scaled(D, e):
        D = centred(D, intercept)
        e = centred(e, intercept)
        norms = np.linalg.norm(D, axis=0)
        return size * D / np.where(norms > 0, norms, 1) * lengths, size * e / (
            np.linalg.norm(e) or 1
        ) * length

    near = found.nearest
    if near is not None:
        yield scaled(near.X - X, near.y - y)
    for _ in range(tries):
        D = rng.standard_normal(X.shape)
        e = rng.standard_normal(len(y))
        if near is not None and rng.random() < 0.5:
            mix = 10 ** rng.uniform(-2, 0)
            D = (near.X - X) / near.size / lengths.max(initial=1e-300) + mix * D / np.sqrt(len(y))
            e = (near.y - y) / near.size / (length or 1) + mix * e / np.sqrt(len(y))
        yield scaled(D, e)


def examine(X, y, method, options, rng, tries):
    """Return (problem, upper/lower), where problem is "" if all bounds hold, and the quotient may be NaN."""
    intercept = options.get("intercept", False)
    standardize = options.get("standardize", False)
    forced = options.get("forced", [])
    k = int(min(rng.integers(1, 6), X.shape[1]))
    if method == "lasso_path":
        path = sl.lasso_path(X, y, **options)
        if len(path) < 2:
            return "", np.nan
        t = int(rng.integers(len(path) - 1))
        lam = float(path.knots[t + 1] + rng.uniform(0.1, 0.9) * (path.knots[t] - path.knots[t + 1]))
        found = sl.condition(X, y, path, lam=lam)
    else:
        k = max(k, len(forced) + 1) if X.shape[1] > len(forced) else len(forced)
        path = getattr(sl, method)(X, y, k, **options)
        try:
            found = sl.condition(X, y, path)
        except ValueError as error:
            if "dependent" in str(error):
                return "", np.nan
            raise
    if not len(found) or not np.isfinite(found.lower):
        return "", np.nan
    if not found.lower <= found.upper:
        return "lower exceeds upper", np.nan
    if not found.lower <= found.distance_y * (1 + 1e-9):
        return "lower exceeds the distance in y", np.nan
    near = found.nearest
    if near is not None and method in ("omp", "ols") and not standardize and near.size > 0:
        claim = "ols" if method == "ols" else "omp"
        try:
            certificate = sl.certify(near.X, near.y, path, claim=claim)
            if not any(len(step.tied) > 1 for step in certificate.steps):
                return "the witness picks the same features", np.nan
        except ValueError:
            pass
    if found.lower > SMALLEST:
        size = found.lower * (1 - 1e-6)
        for D, e in changes(rng, X, y, found, intercept, size, tries):
            if method == "lasso_path":
                coef = path.at(lam)
                A = np.union1d(np.flatnonzero(coef), forced).astype(int)
                signs = np.sign(coef[A]) * ~np.isin(A, forced)
                same = textbook_support(X + D, y + e, lam, A, signs, intercept, standardize)
            else:
                support = path.support.tolist()
                first = len(forced)
                same = textbook_picks(X + D, y + e, support, first, method == "ols", intercept, standardize)
            if not same:
                return "a change below lower alters the selection", np.nan
    return "", found.upper / found.lower if found.lower > 0 else np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=np.inf)
    given = parser.parse_args()
    quotients = collections.defaultdict(list)
    wrong = []
    zero = collections.Counter()
    names = list(ENSEMBLES)
    start = time.monotonic()
    count = 0
    for index in range(given.designs):
        if time.monotonic() - start > 60 * given.minutes:
            break
        count += 1
        rng = np.random.default_rng((given.seed, index))
        name = names[index % len(names)]
        method = METHODS[index // len(names) % len(METHODS)]
        options = OPTIONS[index // (len(names) * len(METHODS)) % len(OPTIONS)]
        X, y = draw(name, rng)
        problem, quotient = examine(X, y, method, options, rng, given.tries)
        if problem:
            wrong.append((index, name, method, options, problem))
            say(wrong[-1])
        if np.isnan(quotient):
            zero[method] += 1
        else:
            quotients[method].append(quotient)
    say(f"{count} designs, seed {given.seed}: {len(wrong)} wrong bounds")
    for method, found in quotients.items():
        low = np.mean(np.array(found) <= 2)
        middle, high = np.quantile(found, [0.5, 0.95])
        say(f"{method}: {len(found)} with lower > 0, {zero[method]} others; upper/lower median {middle:.3f},")
        say(f"    95 % below {high:.3f}, at most 2 on {100 * low:.1f} %")
    return len(wrong)


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def draw(name, rng):
    """Draw X and y of an ensemble with n, d ≤ 60."""
    design = ENSEMBLES[name].draw(rng)
    X = np.asarray(design.X, float)
    rows = rng.permutation(len(X))[:60]
    columns = rng.permutation(X.shape[1])[:60]
    return np.ascontiguousarray(X[np.sort(rows)][:, np.sort(columns)]), np.asarray(design.y, float)[
        np.sort(rows)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
