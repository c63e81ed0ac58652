"""Slow textbook NumPy, sharing no code with the package."""

import numpy as np
from sklearn.linear_model import Lasso


def residual(X, y, S):
    """P_S^⊥y by least squares."""
    lengths = np.linalg.norm(X[:, list(S)], axis=0)
    A = X[:, list(S)] / np.where(lengths > 0, lengths, 1)
    return y - A @ np.linalg.lstsq(A, y, rcond=None)[0] if len(lengths) else y


def textbook_omp(X, y, k, S=()):
    """Algorithm 2 with a fresh least squares at every step."""
    S = list(S)
    while len(S) < k:
        c = np.abs(X.T @ residual(X, y, S))
        c[S] = -1
        S.append(int(np.argmax(c)))
    return S


def lasso_kkt(X, y, coef, lam, S=()):
    """Largest violation of the optimality conditions of ½‖y − Xβ‖² + λ‖β_{S̄}‖₁, over ‖Xᵀy‖∞."""
    c = X.T @ (y - X @ coef)
    outside = np.ones(len(coef), bool)
    outside[list(S)] = False
    on = outside & (coef != 0)
    worst = max(
        np.abs(c[~outside]).max(initial=0),
        (np.abs(c[outside]) - lam).max(initial=0),
        np.abs(c[on] - lam * np.sign(coef[on])).max(initial=0),
    )
    return worst / np.abs(X.T @ y).max()


def worst_kkt(path, X, y, S=()):
    """The same for a path: at every knot, half-way between knots, and above the first, all at once."""
    lam = np.concatenate([[1.5 * path.knots[0]], path.knots, (path.knots[1:] + path.knots[:-1]) / 2])
    coef = path.at(lam)
    c = (y - coef @ X.T) @ X
    off = np.abs(c) - lam[:, None]
    off[coef != 0] = np.abs(c - lam[:, None] * np.sign(coef))[coef != 0]
    off[:, list(S)] = np.abs(c)[:, list(S)]
    return off.max() / np.abs(X.T @ y).max()


def objective(X, y, coef, lam, S=()):
    """½‖y − Xβ‖² + λ‖β_{S̄}‖₁."""
    penalized = np.abs(coef)
    penalized[list(S)] = 0
    return 0.5 * np.sum((y - X @ coef) ** 2) + lam * penalized.sum()


def textbook_ols(X, y, k, S=()):
    """The feature of largest |x_jᵀr|/‖P_S^⊥x_j‖, by a fresh QR; dependent columns are left out."""
    S = list(S)
    while len(S) < k:
        Q = np.linalg.qr(X[:, S])[0]
        Z = X - Q @ (Q.T @ X)
        Z -= Q @ (Q.T @ Z)
        lengths = np.linalg.norm(Z, axis=0)
        lengths[S] = 0
        seen = lengths > 1e-12 * np.linalg.norm(X, axis=0)
        falls = np.divide(np.abs(Z.T @ y), lengths, out=np.zeros(len(seen)), where=seen)
        S.append(int(np.argmax(falls)))
    return S


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def near(a, b, tol=1e-9):
    """Assert that two arrays differ by at most tol times the largest entry of the second."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0) <= tol * np.abs(b).max(initial=np.finfo(float).tiny)


def unit(X):
    """X with columns of length 1, or 0."""
    norms = np.linalg.norm(X, axis=0)
    return X / np.where(norms > 0, norms, 1)


def coordinate_descent(X, y, lam):
    """β of ½‖y − Xβ‖² + λ‖β‖₁ by scikit-learn, which divides the squares by n."""
    model = Lasso(alpha=lam / len(y), fit_intercept=False, tol=1e-14, max_iter=10**6)
    return model.fit(X, y).coef_
