"""Sequential LASSO for generalized linear models, and for groups, selects features that gradient OMP could
select.

The conclusion of *Sequential Attention for Feature Selection* asks whether its results on Sequential LASSO
extend to generalized linear models, for which OMP has guarantees (Elenberg et al., 2018). Let x_i be the rows
of X, L(Xβ) = Σ_i ℓ_i(⟨x_i, β⟩) the loss, and S the set of selected groups of features. Let β̂_S be a
minimiser of the loss on S, and

    F_λ(β) = Σ_i ℓ_i(⟨x_i, β⟩) + λ Σ_{g ∉ S} ‖β_g‖₂,   ℓ_i convex, differentiable and bounded below,

and c_g = −X_gᵀ∇L(X_Sβ̂_S). The theorem says that outside S, every minimiser of F_λ for λ just below λ* =
max‖c_g‖ is nonzero only on groups of T = {g : ‖c_g‖ = λ*}. The theorem, its proof, prior work, and an
interval of such λ are in docs/proofs/generalized_linear_models.md. Counterexamples without the hypotheses of
the theorem are in test_glm_limits.py, and ties between groups in test_group_selection.py.

Idea of the proof: ∇L is the same at all minimisers. If a minimiser has β_g ≠ 0, then ‖X_gᵀ∇L‖ = λ. For λ → λ*
the gradients ∇L tend to the gradient at β̂_S, so that ‖c_g‖ = λ*.

Losses L that are not sums are not checked. The tolerance of a comparison is derived from the duality gap of
the solution (`proofs_checks.glm`). Therefore the checks do not rely on the accuracy of the solver, except for
β̂_S. If some ‖c_g‖ is within 1e-4 of λ* but does not equal λ* to rounding, the case is undecided.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks import glm
from proofs_checks.glm import bregman, draw, glm_entry, glm_window, moving_rows, reach, solve
from proofs_checks.rational import real
from sparselin.ledger import HOLDS, claim, mutants

QUESTION = "first open question of Section 5 (ICLR)"
GROUPED = (0, 1, 2, 2)  # the groups of every other model that another solver audits
GAP = 1e-9  # a solver's gap above this leaves a case undecided


def has_minimiser(at):
    """Return whether the loss of a model has a minimiser that is zero outside the selected features."""
    return at.loss.attained or not moving_rows(at.loss, glm.restricted(at).X, at.y)[0].any()


def entered(check, at):
    """Return λ* and the tied groups of a model as an `Entry`, or None if the hypotheses of the theorem do not
    hold.

    Also return None if λ* is zero, or if rounding leaves open which groups are tied.
    """
    if not has_minimiser(at):
        return None
    entry = glm_entry(at)
    if not entry.lam_star > 1e-6:
        return None
    return entry if entry.certain else check.undecided()


def zero_groups(at, lam):
    """Return a solution β at the penalty λ, the groups that are zero in every solution, and the duality gap.

    The duality gap proves that the groups are zero.
    """
    beta = solve(at, lam)
    u, gap = glm.dual_point(at, lam, beta)
    return beta, at.norms(at.X.T @ u) + reach(at, u, gap) < lam, gap


def least_on(at, beta):
    """Return a lower bound on the least loss of coefficients that are zero outside the selected features."""
    below, b = glm.restricted(at), beta[at.selected]
    return glm.objective(below, 0, b) - glm.dual_point(below, np.inf, b)[1]


def within(at, entry):
    """Return a penalty λ in the middle of the interval below λ* in which only tied groups are proved to
    enter.
    """
    return (1 - glm_window(at, entry) / 2) * entry.lam_star


def picks_within_the_tied(check, at, entry):
    """Return whether the theorem holds for a model, or None if this is undecided.

    At a λ above λ*, all solutions must be zero outside the selected groups S. At a λ just below λ*, all
    solutions must be nonzero outside S, but only on the tied groups.
    """
    off_S = [g for g in range(len(entry.sizes)) if g not in at.S]
    _, zero, gap = zero_groups(at, 1.01 * entry.lam_star)
    nothing_above = bool(zero[off_S].all())
    lam = within(at, entry)
    beta, zero, gap_below = zero_groups(at, lam)
    gain = least_on(at, entry.beta) - glm.objective(at, lam, beta)
    if max(gap, gap_below) > GAP or abs(gain) < 1e-12:
        return check.undecided()
    return lam < entry.lam_star and nothing_above and gain > 0 and bool(zero[entry.others].all())


def by_loss(check, draw):
    """Check the theorem on Sequential LASSO for generalized linear models, on random models from `draw`.

    The theorem: above λ*, all solutions are zero outside the selected groups S. Just below λ*, all solutions
    are nonzero outside S, but only on the tied groups T.

    Report the number of models with each loss, with ties, with selected groups, and with groups that are
    neither selected nor tied.
    """
    kinds, seen = {}, [0, 0, 0]

    def picks(at):
        entry = entered(check, at)
        held = None if entry is None else picks_within_the_tied(check, at, entry)
        if held is not None:
            kinds[at.loss.name] = kinds.get(at.loss.name, 0) + 1
            seen[0] += len(entry.tied) > 1
            seen[1] += bool(at.S)
            seen[2] += bool(entry.others)
        return held

    glm.each(check, draw, picks)
    counts = ", ".join(f"{name} {kinds[name]}" for name in sorted(kinds))
    check.measured(f"{counts}; {seen[0]} with ties, {seen[1]} with S ≠ ∅, {seen[2]} with some off S ∪ T.")


@claim("ours-glm-omp", QUESTION, "proof, float", HOLDS, cases=600, ci_cases=30)
@mutants("glm_entry", "solve", "glm_window")
def test_sequential_lasso_picks_a_largest_gradient(check):
    """Sequential LASSO for a generalized linear model selects a feature with the largest gradient |⟨X_i,
    ∇L(X_Sβ̂_S)⟩|. In detail, let L = Σℓ_i be convex, differentiable and bounded below, and let β̂_S minimise
    L(X_Sβ) over coefficients on the set S of selected features. Let λ*(S) = ‖X_S̄ᵀ∇L(X_Sβ̂_S)‖∞, where S̄ is
    the complement of S. For λ > λ*(S), every solution of min L(Xβ) + λ‖β_S̄‖₁ is zero off S, and for λ <
    λ*(S) no solution is zero off S. For λ just below λ*(S), every solution is zero off S ∪ T, where T =
    argmax|⟨X_i, ∇L(X_Sβ̂_S)⟩|.

    Hypotheses: L is a sum, and X is any matrix. The ℓ_i need not be strictly convex, nor ∇L Lipschitz. The
    check uses squared, logistic, Poisson, Huber and squared hinge losses.

    Consequences: The answer to the paper's question is yes: guarantees of gradient OMP for generalized linear
    models that hold however ties are broken are guarantees of Sequential LASSO. Axiotis and Yasuda (arXiv
    2307.07405, 2023) answered the question first, for strictly convex losses, with groups of features. As far
    as their abstract shows, the following is new here: losses that are not strictly convex, λ* as a threshold
    on both sides, the tied features that enter, explicit intervals of λ, separable data, and counterexamples.

    Unchecked: Losses that are not sums are not checked.

    Tolerance: The results are certified by duality gaps. Features whose gradients differ from λ* by a
    relative error of at most 1e-9 count as tied.
    """
    by_loss(check, draw)


@claim("ours-group-omp", QUESTION, "proof, float", HOLDS, cases=600, ci_cases=30)
@mutants("glm_entry", "solve", "glm_window")
def test_group_sequential_lasso_picks_a_largest_gradient(check):
    """Group Sequential LASSO selects a group of columns that Group-OMP (Lozano, Świrszcz, Abe, 2009) could
    select. In detail, consider min L(Xβ) + λ Σ_{g ∉ S} ‖β_g‖₂ for the set S of selected groups. Let λ*(S) =
    max_{g ∉ S} ‖X_gᵀ∇L(X_Sβ̂_S)‖. For λ > λ*(S) every solution is zero off S, and for λ < λ*(S) no solution
    is zero off S. For λ just below λ*(S) every solution is zero off S ∪ T, where T is the set of groups with
    ‖X_gᵀ∇L(X_Sβ̂_S)‖ = λ*(S).

    Hypotheses: The loss L is a sum of convex and differentiable functions ℓ_i that are bounded below, and
    β̂_S minimises it on S. There are two to four groups of one to three columns, and S has at most one group,
    with at most two columns. The columns may have any lengths; a group with longer columns has a larger
    gradient. Group-OMP assumes orthonormal columns within each group.

    Consequences: Axiotis and Yasuda (arXiv 2307.07405, 2023) proved the statement first, for strictly convex
    losses. New here are the points that ours-glm-omp lists, an explicit interval of λ (ours-group-window),
    and the tied groups that enter (ours-group-ties).

    Unchecked: Losses that are not sums are not checked.

    Tolerance: The results are certified by duality gaps. Groups whose gradients differ from λ* by a relative
    error of at most 1e-9 count as tied.
    """
    by_loss(check, glm.draw_groups)


def with_windows(rng, count):
    """Yield models for which the proved interval (λ₀, λ*) is longer than 2 % of λ*.

    Then a less accurate solver can decide which features are zero in this interval.
    """
    while count:
        loss = glm.LOSSES[count % len(glm.LOSSES)]
        X = rng.integers(-2, 3, (6, 4)) + 0.0
        y = glm.labels(loss, rng.integers(-2, 3, 6) + 0.0)
        at = glm.model(loss, X, y, range(int(rng.integers(0, 3))), GROUPED if count % 2 else None)
        if has_minimiser(at):
            entry = glm_entry(at)
            if entry.certain and glm_window(at, entry) > 0.02:
                count -= 1
                yield at


def clarabel(at, lam):
    """Return a solution β and the minimum of the penalised loss, computed by the interior point solver
    Clarabel.

    Clarabel shares no code with the solver of the checks.
    """
    import cvxpy as cp

    beta, y = cp.Variable(at.X.shape[1]), at.y
    eta, sign = at.X @ beta, 2 * y - 1
    fit = {
        "squared": lambda: cp.sum_squares(eta - y) / 2,
        "Huber": lambda: cp.sum(cp.huber(eta - y)) / 2,
        "logistic": lambda: cp.sum(cp.logistic(eta)) - y @ eta,
        "Poisson": lambda: cp.sum(cp.exp(eta)) - y @ eta,
        "squared hinge": lambda: cp.sum_squares(cp.pos(1 - cp.multiply(sign, eta))) / 2,
    }[at.loss.name]()
    off_S = [np.flatnonzero(at.groups == g) for g in np.unique(at.groups) if g not in at.S]
    problem = cp.Problem(cp.Minimize(fit + lam * sum(cp.norm(beta[J]) for J in off_S)))
    problem.solve(solver=cp.CLARABEL)
    return beta.value, problem.value


@claim("ours-glm-audit", QUESTION, "float", HOLDS, cases=40, ci_cases=5)
@mutants("solve")
def test_another_solver_agrees(check):
    """Just below λ*, an interior point solver finds the same minimum of F_λ(β) = L(Xβ) + λ‖β_S̄‖₁ as our
    solver, with which it shares no code. Outside S ∪ T, its coefficients are negligible.

    Hypotheses: The designs are random 6 × 4 integer matrices, with five losses and a set S of at most two
    selected features or groups. In every other design, two columns form a group. λ* is the largest length of
    a gradient X_gᵀ∇L of a group outside S, and T the set of groups that attain it. λ lies in the proved
    interval of λ in which only groups of T can be nonzero off S; this interval is longer than 2 % of λ*.

    Tolerance: The minima may differ by a relative error of 1e-6, and a coefficient counts as negligible below
    1e-3 of the largest. Clarabel guarantees an error of at most 1e-8 in the minimum.
    """

    def as_others_solve(at):
        """Return whether Clarabel finds the same minimum as our solver, and large coefficients only on S and
        tied groups.
        """
        entry = glm_entry(at)
        lam = within(at, entry)
        beta, value = clarabel(at, lam)
        ours = glm.objective(at, lam, solve(at, lam))
        sizes = at.norms(beta)
        large = set(np.flatnonzero(sizes > 1e-3 * sizes.max()).tolist())
        return abs(value - ours) <= 1e-6 * (1 + abs(ours)) and large <= set(at.S) | set(entry.tied)

    check.over(with_windows(check.rng, check.cases), as_others_solve)


def used_up(at, entry, t0):
    """Return whether the relative length t₀ of the proved interval below λ* is as long as the bound allows.

    At λ = (1 − t₀)λ*, the bound on the length of each group's gradient must be at most λ, with equality for
    one group that is neither selected nor tied.
    """
    D = bregman(at.loss, at.y, at.X @ entry.beta, entry.dual, t0)
    slack = (1 - t0) * entry.lam_star - entry.sizes - reach(at, entry.dual, D)
    return abs(slack[entry.others].min()) <= 1e-6 * entry.lam_star if entry.others else t0 == 1


def is_projection(at, entry, t):
    """Return whether the gradient at the penalty (1 − t)λ* obeys the bounds from the Bregman divergence, or
    None.

    Every solution must be zero outside the selected and the tied groups. The gradient must differ from the
    gradient at β̂_S, the minimiser on the selected groups, by no more than the divergence allows. None means
    undecided.
    """
    lam, y, loss = (1 - t) * entry.lam_star, at.y, at.loss
    u, gap = glm.dual_point(at, lam, solve(at, lam))
    if gap > GAP:
        return None
    D, v = bregman(loss, y, at.X @ entry.beta, entry.dual, t), (1 - t) * entry.dual
    zero = at.norms(at.X.T @ u) + reach(at, u, gap) < lam
    rise = loss.conjugate(u, y).sum() - loss.conjugate(v, y).sum()
    moved = at.norms(at.X.T @ (u - entry.dual))
    bound = reach(at, entry.dual, D) + reach(at, u, gap)
    return (
        bool(np.all(zero[entry.others]))
        and rise <= gap + 1e-12 * (1 + abs(loss.conjugate(u, y)).sum())
        and bool(np.all(moved <= bound + 1e-9 * entry.lam_star))
        and _is_divergence(at, entry, t, D)
    )


def divergence(loss, y, v, u, eta):
    """Return the Bregman divergence D(v, u) of the conjugate of the loss, plus a bound on its rounding error.

    With the conjugate L*, D(v, u) = L*(v) − L*(u) − ⟨η, v − u⟩ for u = ∇L(η).
    """
    terms = np.concatenate([loss.conjugate(v, y), -loss.conjugate(u, y), -eta * (v - u)])
    return max(terms.sum(), 0.0) + 1e-14 * (1 + abs(terms).sum())


def _is_divergence(at, entry, t, D):
    """Return whether D is the Bregman divergence of (1 − t)u and u, up to rounding, for the gradient u at
    β̂_S.

    The divergence of the conjugate L* is D(v, u) = L*(v) − L*(u) − ⟨η, v − u⟩, where u is the gradient of L
    at η.
    """
    u, star = entry.dual, at.loss.conjugate
    terms = np.concatenate([star((1 - t) * u, at.y), -star(u, at.y), t * (at.X @ entry.beta) * u])
    return abs(terms.sum() - D) <= 1e-10 * abs(terms).sum()


def within_reach(check, loss):
    """Return whether two random gradients u and w of a loss differ by no more than their Bregman divergences
    allow.

    The difference is measured by |⟨X_j, u − w⟩|, and both D(u, w) and D(w, u) give a bound.
    """
    rows = int(check.rng.integers(1, 4))
    X, y = check.rng.integers(-2, 3, (rows, 3)) + 0.0, glm.labels(loss, check.rng.integers(-2, 3, rows))
    eta, theta = check.rng.normal(scale=2, size=(2, rows))
    at, u, w = glm.model(loss, X, y), loss.gradient(eta, y), loss.gradient(theta, y)
    bounds = [reach(at, u, divergence(loss, y, w, u, eta)), reach(at, u, divergence(loss, y, u, w, theta))]
    if loss is glm.POISSON:  # at q = u + y = 0, on the boundary, D(u, w) = Σ(w + y) is all there is
        edge = reach(at, -y, divergence(loss, y, -y, w, theta))
        if np.any(abs(X.T @ (w + y)) > edge):
            return False
    return all(np.all(abs(X.T @ (w - u)) <= bound) for bound in bounds)


@claim(
    "ours-glm-window",
    "Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission), for generalized linear models",
    "proof, float",
    HOLDS,
    cases=500,
    ci_cases=30,
)
@mutants("glm_window", "bregman", "reach", "sl.first_entry")
def test_the_window_of_a_generalized_linear_model(check):
    """There is an explicit interval of λ just below λ* in which every solution β(λ) of min L(Xβ) + λ‖β_S̄‖₁
    is zero off S ∪ T. Let u_λ = ∇L(Xβ(λ)) and u_S = ∇L(X_Sβ̂_S). Then u_λ minimises the Bregman divergence
    D(·, u_S) of the conjugate L* over X_Sᵀu = 0, ‖X_S̄ᵀu‖∞ ≤ λ. At λ = (1 − t)λ*, therefore, D(u_λ, u_S) ≤
    D((1 − t)u_S, u_S). If ℓ_i'' ≤ M for all i, every solution is zero off S ∪ T as long as |c_j| +
    ‖X_j‖√(2M·D((1 − t)u_S, u_S)) < λ for all j ∉ S ∪ T. Let t₀ be the largest such t. For least squares, the
    least of t₀ and of the numbers 2λ*/(λ* + ‖X_i‖‖P_S^⊥y‖), i ∈ T, is the ε₀ of the proof of Lemma 3.4.

    Hypotheses: L = Σℓ_i is convex, differentiable and bounded below, and β̂_S minimises L(X_Sβ) on the set S
    of selected features (as in ours-glm-omp). c_j = −⟨X_j, u_S⟩, λ* = max|c_j| and T = {j : |c_j| = λ*}. For
    Poisson regression, a bound from Hellinger's distance replaces M. P_S^⊥ is the projection onto the
    orthogonal complement of the columns in S.

    Tolerance: The results are certified by duality gaps. The ε₀ from t₀ may differ from the package's by
    1e-9, and the left side of the inequality for t₀ may differ from λ by 1e-6λ*.
    """
    lengths = {loss.name: [] for loss in glm.LOSSES}

    def within_the_divergence(at):
        entry = entered(check, at)
        if entry is None:
            return None
        t0 = glm_window(at, entry)
        lengths[at.loss.name].append(t0)
        held = [used_up(at, entry, t0)] + [is_projection(at, entry, t) for t in (t0 / 3, 0.95 * t0)]
        return check.undecided() if None in held else all(held)

    def is_the_proofs(at):
        entry, theirs = entered(check, at), sl.first_entry(at.X, at.y, forced=at.S)
        if entry is None:
            return None
        q = np.linalg.norm(at.X, axis=0) * np.linalg.norm(entry.dual)
        faces = 2 * entry.lam_star / (entry.lam_star + q[list(entry.tied)])
        shorter = min(glm_window(at, entry), faces.min(), 1.0)
        return abs(theirs.proof_lower - (1 - shorter) * entry.lam_star) <= 1e-9 * entry.lam_star

    glm.each(check, draw, within_the_divergence)
    glm.each(check, glm.draw_least_squares, is_the_proofs)
    check.over(
        [loss for _ in range(check.cases) for loss in glm.LOSSES], lambda loss: within_reach(check, loss)
    )
    medians = ", ".join(f"{name} {np.median(t):.2g}" for name, t in lengths.items() if t)
    check.measured(f"Median t₀ on these small integer designs: {medians}.")


@claim("ours-glm-squared", "Theorem 3.3", "proof, float", HOLDS)
@mutants("glm_entry", "sl.first_entry", "sl.omp")
def test_least_squares_is_theorem_3_3(check):
    """The theorem on generalized linear models contains Theorem 3.3. For ℓ_i(η) = ½(η − y_i)², the values λ*
    = ‖X_S̄ᵀ∇L‖∞ and T = argmax|X_S̄ᵀ∇L| equal those of Sequential LASSO and OMP, and A(S) ⊆ T.

    Hypotheses: The loss is L = Σℓ_i, and ∇L is taken at the minimiser on the set S of selected features. λ* >
    0, X has any columns, and |S| ≤ 2. A(S) is the set of features that enter just below λ*. S̄ is the
    complement of S.

    Tolerance: The values of λ* may differ by a relative error of 1e-9.
    """

    def same(at):
        X, y, S = at.X, at.y, at.S
        entry, theirs = entered(check, at), sl.first_entry(X, y, forced=S)
        if entry is None:
            return None
        independent = np.linalg.matrix_rank(X[:, list(S)]) == len(S) if S else True
        picked = True
        if independent and len(S) < X.shape[1]:
            picked = int(sl.omp(X, y, len(S) + 1, forced=S).support[-1]) in entry.tied
        return (
            abs(entry.lam_star - theirs.lam_star) <= 1e-9 * theirs.lam_star
            and entry.tied == theirs.tied
            and set(theirs.active) <= set(entry.tied)
            and picked
        )

    glm.each(check, glm.draw_least_squares, same)


def minimisers(x, y):
    """Return the interval [b, b'] of the minimisers of Σ Huber(x_i b − y_i) over b, exactly, for x ≠ 0."""

    def slope(b):
        return sum((a * g for a, g in zip(x, huber_gradient(x, y, b), strict=True)), fmpq(0))

    ends = sorted({(t + side) / a for a, t in zip(x, y, strict=True) if a for side in (-1, 1)})
    low = next(k for k, b in enumerate(ends) if slope(b) >= 0)
    high = len(ends) - 1 - next(k for k, b in enumerate(reversed(ends)) if slope(b) <= 0)
    return _zero(slope, ends, low - 1, low), _zero(slope, ends, high, high + 1)


def _zero(slope, ends, left, right):
    """Return a zero of a piecewise linear and increasing function between two neighbouring break points.

    If the function is zero at one of the break points, this point is returned.
    """
    for k in (left, right):
        if 0 <= k < len(ends) and slope(ends[k]) == 0:
            return ends[k]
    a, b = ends[left], ends[right]
    return a - slope(a) * (b - a) / (slope(b) - slope(a))


def huber_gradient(x, y, b):
    """Return the derivatives of Huber's loss of x_i b − y_i with respect to x_i b, one for each i."""
    return [max(min(a * b - t, fmpq(1)), fmpq(-1)) for a, t in zip(x, y, strict=True)]


@claim("ours-glm-flat", QUESTION, "proof, exact", HOLDS, cases=300, ci_cases=30)
@mutants("huber_gradient", "glm_entry")
def test_the_gradient_is_the_same_at_all_minimisers(check):
    """The theorem on generalized linear models does not need strict convexity. The gradient ∇L(X_Sβ̂_S) is
    the same at all minimisers β̂_S of L(X_Sβ), so λ*(S) and T are well defined even if β̂_S and X_Sβ̂_S are
    not. An example is Huber's loss with an interval of minimisers.

    Hypotheses: L is convex and differentiable. T is the set of features with the largest |⟨X_i, ∇L(X_Sβ̂_S)⟩|
    = λ*(S), where S is the set of selected features.
    """

    def rows(rng):
        return [[int(a) for a in row] for row in rng.integers(-2, 3, (3, rng.integers(2, 7)))]

    def constant(case):
        x, far, other = case
        y = [3 * t for t in far]
        if not any(x):
            return None
        low, high = minimisers([fmpq(a) for a in x], [fmpq(t) for t in y])
        if low == high:
            return None
        points = [low, (low + high) / 2, (low + 2 * high) / 3, high]
        gradients = [huber_gradient(x, y, b) for b in points]
        stationary = sum(a * g for a, g in zip(x, gradients[0], strict=True)) == 0
        lam = abs(sum(a * g for a, g in zip(other, gradients[0], strict=True)))
        entry = glm_entry(glm.model(glm.HUBER, np.array([x, other], float).T, np.array(y, float), (0,)))
        agrees = abs(entry.lam_star - real(lam)) <= 1e-8 * (1 + real(lam))
        return stationary and all(g == gradients[0] for g in gradients) and agrees

    glm.each(check, rows, constant)
    # (1, 1), y = (3, −3): every b in [−2, 2] minimises, the gradient is (−1, 1)
    one = [fmpq(1), fmpq(1)], [fmpq(3), fmpq(-3)]
    check.over([one], lambda at: minimisers(*at) == (-2, 2) and huber_gradient(*at, fmpq(1, 3)) == [-1, 1])


def separated(at):
    """Return the rows of the data that are separated, and a vector d that separates them.

    A direction d of recession of the loss on the selected features does not increase the loss anywhere. A row
    x_i is separated if ⟨x_i, d⟩ ≠ 0 for such a d. The returned d moves all separated rows.
    """
    d = np.zeros(at.X.shape[1])
    moved, d[at.selected] = moving_rows(at.loss, glm.restricted(at).X, at.y)
    return moved, d


def is_separated(at, moved, d):
    """Return whether the direction d moves exactly the separated rows, `moved`, and the loss decreases along
    d.

    Each moved row must be moved in a direction in which its own loss decreases, and no other row may be
    separated.
    """
    eta = at.X @ d
    falls = glm.objective(at, 1.0, d) < glm.objective(at, 1.0, 0 * d)
    exact = np.all(at.loss.flat(at.y)[moved] * eta[moved] > 0) and not np.any(eta[~moved])
    further = moving_rows(at.loss, glm.restricted(at).X[~moved], at.y[~moved])[0].any()
    return bool(falls and exact and not further)


def solves_nothing(at):
    """Return whether the penalised loss has the infimum 0 also for the penalty 10⁻³, without a feature
    outside S.

    It must tend to 0 along the direction d that separates the rows, and the least loss on the selected
    features must be 0.
    """
    d = separated(at)[1]
    return glm.objective(at, 1e-3, 40 * d) < 1e-12 and least_on(at, 0 * d) <= 1e-12


def as_without_them(check, at):
    """Return whether the features that enter are the same with all rows as without the separated rows.

    Return None if this is undecided, or if no row or every row is separated.
    """
    moved, d = separated(at)
    if not moved.any():
        return None
    if not is_separated(at, moved, d):
        return False
    if moved.all():  # nothing is left, and λ*_K = 0
        return None
    rest = at._replace(X=at.X[~moved], y=at.y[~moved])
    entry = glm_entry(rest)
    off_S = [j for j in range(at.X.shape[1]) if j not in at.S]
    if entry.lam_star < 1e-6:
        return bool(zero_groups(rest, 1.0)[1][off_S].all())
    if not entry.certain:
        return check.undecided()
    _, zero, gap = zero_groups(rest, 1.01 * entry.lam_star)
    lam = within(rest, entry)
    lower, _, gap_below = zero_groups(rest, lam)
    gain = least_on(rest, entry.beta) - glm.objective(at, lam, lower + 1000 * d)
    if max(gap, gap_below) > GAP or abs(gain) < 1e-12:
        return check.undecided()
    return bool(zero[off_S].all()) and gain > 0


@claim(
    "ours-glm-separable",
    "Algorithm 3, line 4, for generalized linear models",
    "proof, exact, float",
    HOLDS,
    cases=400,
    ci_cases=30,
)
@mutants("moving_rows", "glm_entry")
def test_separated_rows_drop_out(check):
    """If the loss L(X_Sβ) on the selected features S attains no minimum, as for separable logistic data,
    F_λ(β) = L(Xβ) + λ‖β_S̄‖₁ has no minimiser for any λ > 0. The theorem on generalized linear models holds
    if the separated rows J are left out. With λ*_K computed from the remaining rows K, inf F_λ < inf L(X_Sβ)
    if and only if λ < λ*_K. If no rows remain, λ*_K = 0.

    Hypotheses: The models are logistic and Poisson regression with 1 ≤ |S| ≤ 2. A direction d of recession of
    L(X_Sβ) is a direction along which the loss does not increase. J is the set of rows x_i with ⟨x_i, d⟩ ≠ 0
    for some such d. S̄ is the complement of S.

    Consequences: The threshold λ*(S) must be read as sup{λ : inf F_λ < inf L(X_Sβ)}. Then the theorem holds
    for the rows K.

    Tolerance: J is exact. The other results are certified by duality gaps.
    """

    glm.each(
        check, lambda rng: draw(rng, (glm.LOGISTIC, glm.POISSON), 1), lambda at: as_without_them(check, at)
    )
    # X_0 = (1, 0, 0), y = (1, 1, 0): row 0 is separated; c_1 = ½·1 − ½·(−1) = 1 on the others
    X, y = np.array([[1.0, 5.0], [0.0, 1.0], [0.0, -1.0]]), np.array([1.0, 1.0, 0.0])
    moved = moving_rows(glm.LOGISTIC, X[:, :1], y)[0]
    check.over([moved], lambda rows: rows.tolist() == [True, False, False])
    check.over([glm_entry(glm.model(glm.LOGISTIC, X[1:], y[1:], (0,)))], lambda entry: entry.lam_star == 1)
    # without the last row all are separated
    check.over(
        [glm.model(glm.LOGISTIC, X[:1], y[:1], (0,))],
        lambda at: separated(at)[0].all() and solves_nothing(at),
    )
