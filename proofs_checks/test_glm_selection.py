"""Sequential LASSO for generalized linear models picks what gradient OMP could pick.

The conclusion of *Sequential Attention for Feature Selection* asks whether its results on Sequential LASSO
extend to generalized linear models, for which OMP has guarantees (Elenberg et al., 2018). Here L(η) = Σ_i
ℓ_i(η_i) with ℓ_i: ℝ → ℝ convex and differentiable, F_λ(β) = L(Xβ) + λ‖β_S̄‖₁, S any set, X any matrix.
Least squares, logistic and Poisson regression, Huber's loss and the squared hinge are such; strict
convexity, Lipschitz gradients, coercivity and unit columns are not needed.

*Theorem.* Let L∘X_S have a minimiser β̂_S (for S = ∅ it has), and the ℓ_i be bounded below. Put u_S =
∇L(X_Sβ̂_S), c = −Xᵀu_S, λ* = ‖c‖∞, T = {i : |c_i| = λ*}. Then u_S does not depend on the choice of β̂_S,
and

(a) for λ ≥ λ*, λ > 0, (β̂_S, 0) minimises F_λ; for λ > λ* every minimiser has β_S̄ = 0;

(b) for 0 < λ < λ* there are minimisers, and none has β_S̄ = 0;

(c) if λ* > 0 there is λ₀ < λ* such that for λ₀ < λ < λ* every minimiser has ∅ ≠ supp(β) ∖ S ⊆ T.

So whatever Sequential LASSO selects at S maximises |∂L/∂β_i| at β̂_S: it is a choice that gradient OMP
could make, and a guarantee for gradient OMP that holds however ties are broken holds for Sequential LASSO.
For ½‖y − η‖² it is Theorem 3.3.

*Prior work.* Axiotis and Yasuda, Performance of ℓ₁ Regularization for Sparse Convex Optimization, arXiv
2307.07405 (2023), answered the question first: for strictly convex losses, and groups of features, the
minimiser under a large enough (group) penalty is supported on features of the largest gradient norm, so that
the selection repeats OMP's. New here: no strict convexity (Huber's loss, the squared hinge, dependent
columns), so that solutions, their supports and A(S) need not be unique; λ* on both sides; ties; explicit
windows; separable data, where nothing is attained; and what does not carry over, by counterexamples
(`ours-glm-no-limit` and its neighbours).

*Proof.* (1) The gradient is constant on minimisers. Let β, β' minimise L∘X + Ω, Ω convex, u = ∇L(Xβ). Then
−Xᵀu ∈ ∂Ω(β); adding L(Xβ') ≥ L(Xβ) + ⟨u, X(β' − β)⟩ and Ω(β') ≥ Ω(β) − ⟨u, X(β' − β)⟩ gives equality in
both. So Xβ' minimises L − ⟨u, ·⟩ over ℝⁿ, as Xβ does, whence ∇L(Xβ') = u. With Ω = 0 and X_S this is the
uniqueness of u_S. (Mangasarian, 1988.)

(2) β minimises F_λ iff X_Sᵀu = 0 and −X_S̄ᵀu ∈ λ∂‖β_S̄‖₁, u = ∇L(Xβ). (β̂_S, 0) does so iff λ ≥ λ*: (a),
first half; for λ > λ*, (1) gives all minimisers the gradient u_S, and |c_i| < λ makes β_i zero. If (b, 0)
is a minimiser at λ, b minimises L∘X_S, its gradient is u_S and λ ≥ λ*: (b), second half.

(3) Let λ_k ↑ λ* and β^k minimise F_{λ_k}. ‖β_S̄‖₁ of minimisers does not increase with λ (compare two
values of λ), so ‖β^k_S̄‖₁ ≤ B. With η̂ = X_Sβ̂_S and h(η) = L(η) − L(η̂) − ⟨u_S, η − η̂⟩ ≥ 0, as |⟨X_i,
u_S⟩| ≤ λ* and X_Sᵀu_S = 0, h(Xβ^k) ≤ F_{λ*}(β^k) − F_{λ*}(β̂_S) ≤ (λ* − λ_k)B → 0. h is a sum of h_i(η_i) ≥
0, convex, zero at η̂_i: then h_i'(η_i^k) → 0. Indeed along a bounded subsequence η_i^k tends to zeros of
h_i, where the continuous h_i' vanishes; and if η_i^k → ∞, h_i being nondecreasing beyond η̂_i, h_i = 0
there (likewise for −∞). So ∇L(Xβ^k) → u_S. If i ∉ S ∪ T were in the support of β^k for infinitely many k,
|⟨X_i, ∇L(Xβ^k)⟩| = λ_k → λ* > |c_i|, a contradiction. With (b): (c).

(4) Existence. *The rows J.* As the ℓ_i are bounded below their recession functions are ≥ 0, so d is a
direction of recession of F_λ, λ > 0, iff d_S̄ = 0 and ℓ_i^∞(⟨x_i, d⟩) = 0 for all i. These d form a convex
cone; let d⁰ be one that moves every row that any of them moves (take for each such row one that moves it:
of their positive combinations only those on finitely many hyperplanes leave some of these rows unmoved), J
= {i : ⟨x_i, d⁰⟩ ≠ 0}, K = [n]∖J. For i ∈ J ℓ_i is nonincreasing along d⁰ and tends to its infimum m_i.

*Reduction to K.* Pushing along d⁰ changes neither the penalty nor the rows K: inf F_λ = Σ_J m_i + inf F_λ^K,
where F^K has the rows K only. If a direction of recession d of F^K moved a row of K, so would d + Cd⁰, for
large C one of F_λ. So F_λ^K is constant along its directions of recession and has a minimiser (Rockafellar,
Theorem 27.1(b)).

*Attainment.* Pushed far along d⁰ this minimises F_λ if each ℓ_i, i ∈ J, attains m_i; otherwise nothing
does. If L∘X_S has a minimiser, pushing it along d⁰ lowers no ℓ_i, so each ℓ_i, i ∈ J, has its value m_i
there, and F_λ has a minimiser: (b), first half.

*Where L∘X_S has no minimiser* (separable logistic data), some ℓ_i, i ∈ J, does not attain m_i, and F_λ has
no minimiser for any λ > 0: "the optimal solution" of Algorithm 3 does not exist. By (4), everything holds
for the rows K, the others being separated: inf F_λ < inf L∘X_S exactly for λ < λ*_K := ‖X_{K,S̄}ᵀ∇L_K‖∞,
and limit points of β_S̄ along a minimising sequence belong to minimisers of F_λ^K. For such a sequence
minimises F_λ^K too (F_λ ≥ Σ_J m_i + F_λ^K, with equal infima), and β_S̄ ↦ inf over β_S of F_λ^K is closed
and its infimum attained, since every direction of recession, all of which have d_S̄ = 0, is one along which
F_λ^K is constant (Rockafellar, Theorem 9.2). If no row is left λ*_K = 0: there is nothing to select.

*The window.* Among the u with X_Sᵀu = 0, ‖X_S̄ᵀu‖∞ ≤ λ, u_λ = ∇L(Xβ(λ)) minimises L*, hence, as ⟨η̂, u⟩ =
0, also the divergence D(u, u_S) = L*(u) − L*(u_S) − ⟨η̂, u − u_S⟩: the projection of Section 3, in
Bregman's sense. (1 − t)u_S is feasible for λ = (1 − t)λ*, so D(u_λ, u_S) ≤ D((1 − t)u_S, u_S), which is
finite: ℓ_i*(0) = −inf ℓ_i is, and the domain of L*, to which u_S belongs, is convex. It is for least
squares ½t²‖r‖², for logistic regression a sum of Kullback-Leibler divergences of Bernoulli laws, for
Poisson regression of Poisson ones, for Huber's loss ½t²‖u_S‖² + tΣ(|η̂_i − y_i| − 1)₊. If the ℓ_i' are
M-Lipschitz, ‖u_λ − u_S‖² ≤ 2M·D(u_λ, u_S), and every solution is zero off S ∪ T while |c_j| +
‖X_j‖√(2M·D((1 − t)u_S, u_S)) < (1 − t)λ* for all j ∉ S ∪ T: the proof's λ₀ for least squares.

Not covered: losses L that are no sums and whose gradients are not Lipschitz (with Lipschitz gradients
‖∇L(η) − u_S‖² ≤ 2M·h(η) does step (3)). Tolerance: what a solver's duality gap proves
(`proofs_checks.glm`); nothing else of the solver is trusted. Where |c_j| is within 1e-4 of λ* but not tied
to rounding the case is undecided.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks.glm import (
    HUBER,
    LOGISTIC,
    LOSSES,
    POISSON,
    SQUARED,
    bregman,
    dual_point,
    glm_entry,
    glm_window,
    moving_rows,
    objective,
    reach,
    solve,
)
from proofs_checks.rational import real
from sparselin.ledger import HOLDS, ClaimFailed, claim, mutants

QUESTION = "first open question of Section 5 (ICLR)"
GAP = 1e-9  # a solver's gap above this leaves a case undecided


def labels(loss, y):
    """Integers in −2..2 as responses of the model."""
    return (y > 0) + 0.0 if loss.flat(np.array([0.0, 1.0]))[1] else y + 2 if loss is POISSON else 2 * y


def model(rng, losses=LOSSES, min_selected=0):
    """(loss, X, y, S): small integers, an intercept or not, |S| ≤ 2, zero or equal columns."""
    loss, entry = losses[rng.integers(len(losses))], rng.integers(1, 3)
    X = rng.integers(-entry, entry + 1, (rng.integers(1, 7), rng.integers(1, 6))) + 0.0
    n, d = X.shape
    if rng.random() < 0.5:
        X[:, 0] = 1
    if rng.random() < 0.25:
        X[:, rng.integers(d)] = rng.choice([-1, 0, 1]) * X[:, rng.integers(d)]
    S = rng.permutation(d)[: rng.integers(min_selected, 3)]
    return loss, X, labels(loss, rng.integers(-2, 3, n) + 0.0), tuple(sorted(S.tolist()))


def each(check, draw, holds):
    """`holds` for check.cases draws; None where the hypotheses are not met, and another is drawn.

    ClaimFailed where too few of the draws meet them.
    """
    met = 0
    for _ in range(20 * check.cases):
        case = draw(check.rng)
        outcome = holds(case)
        if outcome is not None:
            check.over([case], lambda _, outcome=outcome: outcome)
            met += 1
        if met == check.cases:
            return
    raise ClaimFailed(f"{met} of {check.cases} cases, no more meet the hypotheses")


def least_squares(rng):
    return model(rng, (SQUARED,))


def has_minimiser(loss, X, y, S):
    """Whether L∘X_S has one."""
    return loss.attained or not moving_rows(loss, X[:, list(S)], y)[0].any()


def zero_columns(loss, X, y, S, lam):
    """(β, the columns that are zero in every solution at λ, the gap), as far as a solver's gap proves it."""
    beta = solve(loss, X, y, S, lam)
    u, gap = dual_point(loss, X, y, S, lam, beta)
    return beta, abs(X.T @ u) + reach(loss, X, y, u, gap) < lam, gap


def least_on(loss, X, y, S, beta):
    """A lower bound on min L∘X_S."""
    X_S, b = X[:, list(S)], beta[list(S)]
    _, gap = dual_point(loss, X_S, y, range(len(S)), np.inf, b)
    return objective(loss, X_S, y, range(len(S)), 0, b) - gap


def entered(check, loss, X, y, S):
    """The entry where the hypotheses are met, λ* > 0 and T is clear; else None."""
    if not has_minimiser(loss, X, y, S):
        return None
    entry = glm_entry(loss, X, y, S)
    if not entry.lam_star > 1e-6:
        return None
    if not entry.clear:
        check.undecided()
        return None
    return entry


@claim("ours-glm-omp", QUESTION, "proof, float", HOLDS, cases=600, ci_cases=30)
@mutants("glm_entry", "solve", "glm_window")
def test_sequential_lasso_picks_a_largest_gradient(check):
    """For L = Σℓ_i convex, differentiable and bounded below with a minimiser on S: λ*(S) =
    ‖X_S̄ᵀ∇L(X_Sβ̂_S)‖∞; above it every solution of L(Xβ) + λ‖β_S̄‖₁ is zero off S, below it none is, and just
    below it the support off S of every solution lies in T = argmax|⟨X_i, ∇L(X_Sβ̂_S)⟩|.

    Hypotheses: none on X; ℓ_i need not be strictly convex, nor ∇L Lipschitz. Checked for squared, logistic,
    Poisson, Huber and squared hinge losses

    Consequences: Yes to the paper's question: guarantees of gradient OMP for generalized linear models that
    hold for any breaking of ties are guarantees of Sequential LASSO. Axiotis and Yasuda (arXiv 2307.07405,
    2023) answered it first, for strictly convex losses, with groups of features. Added here: no strict
    convexity, λ* on both sides, ties, windows, separable data, counterexamples.

    Unchecked: losses that are no sums, with gradients that are not Lipschitz

    Tolerance: certified by duality gaps; 1e-9 relative for a tie
    """
    kinds, ties = {}, [0, 0]

    def picks_within_the_tied(case):
        loss, X, y, S = case
        entry = entered(check, *case)
        if entry is None:
            return None
        others = [j for j in range(X.shape[1]) if j not in S]
        free = [j for j in others if j not in entry.tied]
        _, zero, gap = zero_columns(loss, X, y, S, 1.01 * entry.lam_star)
        nothing_above = bool(zero[others].all())
        lam = (1 - glm_window(loss, X, y, S, entry) / 2) * entry.lam_star
        beta, zero, gap_below = zero_columns(loss, X, y, S, lam)
        gain = least_on(loss, X, y, S, entry.beta) - objective(loss, X, y, S, lam, beta)
        if max(gap, gap_below) > GAP or abs(gain) < 1e-12:
            check.undecided()
            return None
        kinds[loss.name] = kinds.get(loss.name, 0) + 1
        ties[0] += len(entry.tied) > 1
        ties[1] += bool(S)
        return lam < entry.lam_star and nothing_above and gain > 0 and bool(zero[free].all())

    each(check, model, picks_within_the_tied)

    counts = ", ".join(f"{name} {kinds[name]}" for name in sorted(kinds))
    check.measured(f"{counts}; {ties[0]} with ties, {ties[1]} with S ≠ ∅.")


def drawn(rng, count):
    """Models whose windows are at least 2 % long, so that a solver of limited accuracy can tell."""
    while count:
        loss = LOSSES[count % len(LOSSES)]
        X = rng.integers(-2, 3, (6, 4)) + 0.0
        y = labels(loss, rng.integers(-2, 3, 6) + 0.0)
        S = tuple(range(int(rng.integers(0, 3))))
        if has_minimiser(loss, X, y, S):
            entry = glm_entry(loss, X, y, S)
            if entry.clear and glm_window(loss, X, y, S, entry) > 0.02:
                count -= 1
                yield loss, X, y, S


def clarabel(loss, X, y, S, lam):
    """(β, F_λ(β)) by an interior point solver that shares nothing with ours."""
    import cvxpy as cp

    beta = cp.Variable(X.shape[1])
    eta, sign = X @ beta, 2 * y - 1
    fit = {
        "squared": lambda: cp.sum_squares(eta - y) / 2,
        "Huber": lambda: cp.sum(cp.huber(eta - y)) / 2,
        "logistic": lambda: cp.sum(cp.logistic(eta)) - y @ eta,
        "Poisson": lambda: cp.sum(cp.exp(eta)) - y @ eta,
        "squared hinge": lambda: cp.sum_squares(cp.pos(1 - cp.multiply(sign, eta))) / 2,
    }[loss.name]()
    others = [j for j in range(X.shape[1]) if j not in S]
    problem = cp.Problem(cp.Minimize(fit + lam * cp.norm1(beta[others])))
    problem.solve(solver=cp.CLARABEL)
    return beta.value, problem.value


@claim("ours-glm-audit", QUESTION, "float", HOLDS, cases=40, ci_cases=5)
@mutants("solve")
def test_another_solver_agrees(check):
    """Just below λ* an interior point solver, which shares nothing with ours, finds the same value of F_λ and
    no sizeable coefficient off S ∪ T.

    Hypotheses: random 6 × 4 integer designs whose window is longer than 2 %, five losses, |S| ≤ 2

    Tolerance: 1e-6 relative in value, 1e-3 of the largest coefficient: what Clarabel promises is 1e-8 in
    value
    """

    def as_others_solve(case):
        """Clarabel finds the same optimum, to its tolerance, and a support within S ∪ T."""
        loss, X, y, S = case
        entry = glm_entry(loss, X, y, S)
        lam = (1 - glm_window(loss, X, y, S, entry) / 2) * entry.lam_star
        beta, value = clarabel(loss, X, y, S, lam)
        ours = objective(loss, X, y, S, lam, solve(loss, X, y, S, lam))
        large = set(np.flatnonzero(abs(beta) > 1e-3 * abs(beta).max()).tolist())
        return abs(value - ours) <= 1e-6 * (1 + abs(ours)) and large <= set(S) | set(entry.tied)

    check.over(drawn(check.rng, check.cases), as_others_solve)


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
    """u_λ = ∇L(Xβ(λ)) minimises the Bregman divergence D(·, u_S) of L* over X_Sᵀu = 0, ‖X_S̄ᵀu‖∞ ≤ λ, and
    D(u_λ, u_S) ≤ D((1 − t)u_S, u_S) at λ = (1 − t)λ*. If ℓ'' ≤ M every solution is zero off S ∪ T while |c_j|
    + ‖X_j‖√(2M·D((1 − t)u_S, u_S)) < λ for all j ∉ S ∪ T. For least squares this is the proof's λ₀.

    Hypotheses: as for the row on OMP; for Poisson regression a bound from Hellinger's distance in place of M

    Tolerance: certified by duality gaps; 1e-9 relative between t₀ and the package's λ₀; t₀ itself to 1e-6λ*
    in the bound
    """
    lengths = {loss.name: [] for loss in LOSSES}

    def within_the_divergence(case):
        loss, X, y, S = case
        entry = entered(check, *case)
        if entry is None:
            return None
        t0 = glm_window(loss, X, y, S, entry)
        free = [j for j in range(X.shape[1]) if j not in S and j not in entry.tied]
        lengths[loss.name].append(t0)
        # neither farther nor less far: the bound is used up at t₀
        rooms = (1 - t0) * entry.lam_star - abs(entry.correlation)
        left = (rooms - reach(loss, X, y, entry.dual, bregman(loss, y, X @ entry.beta, entry.dual, t0)))[free]
        if not (abs(left.min()) <= 1e-6 * entry.lam_star if free else t0 == 1):
            return False
        for t in (t0 / 3, 0.95 * t0):
            lam = (1 - t) * entry.lam_star
            beta = solve(loss, X, y, S, lam)
            u, gap = dual_point(loss, X, y, S, lam, beta)
            if gap > GAP:
                check.undecided()
                return None
            D = bregman(loss, y, X @ entry.beta, entry.dual, t)
            if not np.all((abs(X.T @ u) + reach(loss, X, y, u, gap))[free] < lam):
                return False
            # u is nearly the least of L*, v feasible: D(u_λ, u_S) ≤ D(v, u_S)
            v = (1 - t) * entry.dual
            rise = loss.conjugate(u, y).sum() - loss.conjugate(v, y).sum()
            if rise > gap + 1e-12 * (1 + abs(loss.conjugate(u, y)).sum()):
                return False
            moved = abs(X.T @ (u - entry.dual))
            bound = reach(loss, X, y, entry.dual, D) + reach(loss, X, y, u, gap)
            if not np.all(moved <= bound + 1e-9 * entry.lam_star) or not _is_divergence(
                loss, X, y, entry, t, D
            ):
                return False
        return True

    each(check, model, within_the_divergence)

    def is_the_proofs(case):
        _, X, y, S = case
        entry, theirs = entered(check, *case), sl.first_entry(X, y, unpenalized=S)
        if entry is None:
            return None
        q = np.linalg.norm(X, axis=0) * np.linalg.norm(entry.dual)
        faces = 2 * entry.lam_star / (entry.lam_star + q[list(entry.tied)])
        shorter = min(glm_window(SQUARED, X, y, S, entry), faces.min(), 1.0)
        return abs(theirs.proof_lower - (1 - shorter) * entry.lam_star) <= 1e-9 * entry.lam_star

    each(check, least_squares, is_the_proofs)

    def within_reach(loss):
        """|⟨X_j, u − w⟩| against D(u, w) and D(w, u), as defined, for gradients u, w at random η, θ."""
        rows = int(check.rng.integers(1, 4))
        X, y = check.rng.integers(-2, 3, (rows, 3)) + 0.0, labels(loss, check.rng.integers(-2, 3, rows))
        eta, theta = check.rng.normal(scale=2, size=(2, rows))
        u, w = loss.gradient(eta, y), loss.gradient(theta, y)
        bounds = [
            reach(loss, X, y, u, divergence(loss, y, w, u, eta)),
            reach(loss, X, y, u, divergence(loss, y, u, w, theta)),
        ]
        if loss is POISSON:  # at q = u + y = 0, on the boundary, D(u, w) = Σ(w + y) is all there is
            edge = reach(loss, X, y, -y, divergence(loss, y, -y, w, theta))
            if np.any(abs(X.T @ (w + y)) > edge):
                return False
        return all(np.all(abs(X.T @ (w - u)) <= bound) for bound in bounds)

    check.over([loss for _ in range(check.cases) for loss in LOSSES], within_reach)
    medians = ", ".join(f"{name} {np.median(t):.2g}" for name, t in lengths.items() if t)
    check.measured(f"Median t₀ on these small integer designs: {medians}.")


def divergence(loss, y, v, u, eta):
    """D(v, u) = L*(v) − L*(u) − ⟨η, v − u⟩, u = ∇L(η), with what its rounding can hide."""
    terms = np.concatenate([loss.conjugate(v, y), -loss.conjugate(u, y), -eta * (v - u)])
    return max(terms.sum(), 0.0) + 1e-14 * (1 + abs(terms).sum())


def _is_divergence(loss, X, y, entry, t, D):
    """D against L*(v) − L*(u) − ⟨η̂, v − u⟩, v = (1 − t)u, to the rounding of those terms."""
    u = entry.dual
    terms = np.concatenate([loss.conjugate((1 - t) * u, y), -loss.conjugate(u, y), t * (X @ entry.beta) * u])
    return abs(terms.sum() - D) <= 1e-10 * abs(terms).sum()


@claim("ours-glm-squared", "Theorem 3.3", "proof, float", HOLDS)
@mutants("glm_entry", "sl.first_entry", "sl.omp")
def test_least_squares_is_theorem_3_3(check):
    """For ℓ_i(η) = ½(η − y_i)², λ* = ‖X_S̄ᵀ∇L‖∞ and T = argmax|∇L| are those of Sequential LASSO and OMP, and
    A(S) ⊆ T.

    Hypotheses: λ* > 0, any columns, |S| ≤ 2

    Tolerance: 1e-9 relative
    """

    def same(case):
        _, X, y, S = case
        entry, theirs = entered(check, *case), sl.first_entry(X, y, unpenalized=S)
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

    each(check, least_squares, same)


def minimisers(x, y):
    """[b, b'], the minimisers of Σ Huber(x_i b − y_i), exactly; x ≠ 0."""

    def slope(b):
        return sum((a * g for a, g in zip(x, huber_gradient(x, y, b), strict=True)), fmpq(0))

    ends = sorted({(t + side) / a for a, t in zip(x, y, strict=True) if a for side in (-1, 1)})
    low = next(k for k, b in enumerate(ends) if slope(b) >= 0)
    high = len(ends) - 1 - next(k for k, b in enumerate(reversed(ends)) if slope(b) <= 0)
    return _zero(slope, ends, low - 1, low), _zero(slope, ends, high, high + 1)


def _zero(slope, ends, left, right):
    """The zero of the piecewise linear slope between two neighbouring ends, or at one of them."""
    for k in (left, right):
        if 0 <= k < len(ends) and slope(ends[k]) == 0:
            return ends[k]
    a, b = ends[left], ends[right]
    return a - slope(a) * (b - a) / (slope(b) - slope(a))


def huber_gradient(x, y, b):
    """The derivatives of Huber's loss at η = xb."""
    return [max(min(a * b - t, fmpq(1)), fmpq(-1)) for a, t in zip(x, y, strict=True)]


@claim("ours-glm-flat", QUESTION, "proof, exact", HOLDS, cases=300, ci_cases=30)
@mutants("huber_gradient", "glm_entry")
def test_the_gradient_is_the_same_at_all_minimisers(check):
    """Strict convexity is not needed: ∇L is the same at all minimisers of L∘X_S, so λ*(S) and T are well
    defined where β̂_S and X_Sβ̂_S are not (Huber's loss, an interval of minimisers).

    Hypotheses: L convex and differentiable
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
        X = np.array([x, other], float).T
        entry = glm_entry(HUBER, X, np.array(y, float), (0,))
        near = abs(entry.lam_star - real(lam)) <= 1e-8 * (1 + real(lam))
        return stationary and all(g == gradients[0] for g in gradients) and near

    each(check, rows, constant)
    # (1, 1), y = (3, −3): every b in [−2, 2] minimises, the gradient is (−1, 1)
    one = [fmpq(1), fmpq(1)], [fmpq(3), fmpq(-3)]
    check.over([one], lambda at: minimisers(*at) == (-2, 2) and huber_gradient(*at, fmpq(1, 3)) == [-1, 1])


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
    """If L∘X_S attains no minimum (separable logistic data), F_λ has no minimiser for any λ > 0. With the
    separated rows J left out all is as before: inf F_λ < inf L∘X_S exactly for λ < λ*_K, K = [n]∖J; λ*_K = 0
    if nothing is left.

    Hypotheses: logistic and Poisson regression, 1 ≤ |S| ≤ 2; J = the rows that a direction of recession of
    L∘X_S moves

    Consequences: λ*(S) must be read as sup{λ : inf F_λ < inf L∘X_S}; then the theorem holds for the rows K

    Tolerance: J is exact; else certified by duality gaps
    """

    def as_without_them(case):
        loss, X, y, S = case
        X_S = X[:, list(S)]
        moved, direction = moving_rows(loss, X_S, y)
        if not moved.any():
            return None
        eta, sign = X_S @ direction, loss.flat(y)
        exact = np.all(sign[moved] * eta[moved] > 0) and not np.any(eta[~moved])
        K, d = ~moved, np.zeros(X.shape[1])
        d[list(S)] = direction
        further = moving_rows(loss, X_S[K], y[K])[0].any()
        falls = objective(loss, X, y, S, 1.0, d) < objective(loss, X, y, S, 1.0, 0 * d)
        if not K.any():
            return exact and falls
        entry = glm_entry(loss, X[K], y[K], S)
        if not (exact and falls and not further):
            return False
        others = [j for j in range(X.shape[1]) if j not in S]
        if entry.lam_star < 1e-6:
            return bool(zero_columns(loss, X[K], y[K], S, 1.0)[1][others].all())
        if not entry.clear:
            check.undecided()
            return None
        least = least_on(loss, X[K], y[K], S, entry.beta)
        _, zero, gap = zero_columns(loss, X[K], y[K], S, 1.01 * entry.lam_star)
        lam = (1 - glm_window(loss, X[K], y[K], S, entry) / 2) * entry.lam_star
        lower, _, gap_below = zero_columns(loss, X[K], y[K], S, lam)
        gain = least - objective(loss, X, y, S, lam, lower + 1000 * d)
        if max(gap, gap_below) > GAP or abs(gain) < 1e-12:
            check.undecided()
            return None
        return bool(zero[others].all()) and gain > 0

    each(check, lambda rng: model(rng, (LOGISTIC, POISSON), 1), as_without_them)
    # X_0 = (1, 0, 0), y = (1, 1, 0): row 0 is separated; c_1 = ½·1 − ½·(−1) = 1 on the others
    X, y = np.array([[1.0, 5.0], [0.0, 1.0], [0.0, -1.0]]), np.array([1.0, 1.0, 0.0])
    moved = moving_rows(LOGISTIC, X[:, :1], y)[0]
    check.over([moved], lambda rows: rows.tolist() == [True, False, False])
    check.over([glm_entry(LOGISTIC, X[1:], y[1:], (0,))], lambda entry: entry.lam_star == 1)
