"""Section 4.2: the other masks, the penalties they induce, and whether they still pick OMP's feature.

Source: *Sequential Attention for Feature Selection*, Section 4.2, B.2.4, B.5 and Table 10 (ICLR and NeurIPS
submission, with the same numbers). The masks s_i(w) for i ∈ S̄, with sums over S̄, are softmax, |w_i| ("which
captures the provable variant"), w_i², |w_i|/Σ|w_j| and w_i²/Σw_j².

Idea: Let β = s(w)∘θ, with the weight decay (λ/2)(‖w‖² + ‖θ‖²). Minimising over θ leaves the penalty
(λ/2)·inf_w [‖w‖² + Σ β_i²/s_i²] on β. For a fixed mask s, with z = s∘s, minimising over β instead leaves the
objective ½‖y‖² − ½R(z), without the decay of w, where

    R(z) = ‖y‖² − λyᵀ(λI + X diag(z)Xᵀ)⁻¹y.

The objective with the decay of w is F(w) = ½‖y‖² − ½R(z) + ½λ·decay(w), where decay(w) = ‖w‖². R increases in
every z_i. So for all w whose z lies in a box, 2F(w) − ‖y‖² is at least λ·inf(decay) − R(z⁺), where the
infimum is over these w, and z⁺ is the upper corner of the box. A finite subdivision into boxes therefore
proves where the global minimum lies. Proofs: docs/proofs/attention_masks.md.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from flint import arb, ctx

import sparselin as sl
from proofs_checks import BOTH
from proofs_checks.experiments.networks.printed import MASKS, TABLE_10
from proofs_checks.penalty import alike, balls, softmax, subdivided, total
from proofs_checks.printed_means import apart
from proofs_checks.rational import mask_value, minors, rational_of, segment, step
from sparselin.ledger import EMPIRICAL, FALSE, HOLDS, claim, mutants

SECTION = f"Section 4.2 {BOTH}"


def ball(q):
    """Return a ball that contains the fraction."""
    return arb(rational_of(q))


def fractions(rng, d, low=-12):
    pairs = zip(rng.integers(low, 13, d).tolist(), rng.integers(1, 7, d).tolist(), strict=True)
    return np.array([Fraction(a, b) for a, b in pairs])


@claim("SA-section-4.2-l1", SECTION, "proof, exact, float", HOLDS, cases=3000)
@mutants("sl.sequential_attention")
@ctx.workprec(128)
def test_the_absolute_value_captures_the_provable_variant(check):
    """The mask s_i(w) = |w_i| captures the provable variant. This mask induces the same penalty λ‖β‖₁, and
    OMP could make each of its picks.

    Hypotheses: λ is in the window of the step, the largest interval below λ* = ‖XᵀP_S^⊥y‖∞ on which the LASSO
    has the same nonzero features. The designs include ties.

    Unchecked: Descents that end without a decision are not judged.
    """
    while check.counted < check.cases:
        n, d = int(check.rng.integers(2, 6)), int(check.rng.integers(2, 7))
        X, y = check.rng.integers(-2, 3, (n, d)).astype(float), check.rng.integers(-2, 3, n).astype(float)
        path = sl.sequential_attention(X, y, min(3, d), parametrization="l1", rng=check.rng)
        check.undecided(path.status is sl.Status.MAX_ITER)
        S = []
        for pick, weights in zip(path.support.tolist(), path.weights, strict=True):
            wrong = pick not in segment(X, y, S).active or (weights < 0).any()
            check.tally(1, int(wrong), f"X = {X.tolist()}, y = {y.tolist()}, S = {S}: {pick}")
            S.append(pick)


def decay_of_square(v, beta):
    """Return w² + θ², given v = w² and β = vθ."""
    return v + (beta / v) ** 2


def decrease(X, y, beta):
    """Return ½‖y‖² − ½‖y − Xβ‖²."""
    return y @ X @ beta - (X @ beta) @ (X @ beta) / 2


def not_below_zero(X, y, v, beta):
    """Return whether ½‖y − Xβ‖² + (λ/2)(‖w‖² + ‖θ‖²) ≥ ½‖y‖² at λ = (½λ*‖y‖)^{2/3}, and whether equality
    holds.

    Both sides are cubed, so that the comparison is exact.
    """
    cube = Fraction(int(abs(X.T @ y).max()) ** 2 * int(y @ y), 4)  # λ³
    above = cube * (decay_of_square(v, beta).sum() / 2) ** 3 - decrease(X, y, beta) ** 3
    return above >= 0, above == 0


@claim("ours-mask-l2-penalty", SECTION, "proof, exact", HOLDS)
@mutants("decay_of_square", "decrease")
@ctx.workprec(128)
def test_the_square(check):
    """The penalty on β that the mask s_i = w_i² induces is

        (λ/2)·3·2^{−2/3} Σ|β_i|^{2/3}, attained at w_i² = 2^{1/3}|β_i|^{2/3}.

    With the loss of least squares, w = θ = 0 is a strict local minimum for every λ > 0. Let λ* = max|⟨X_i,
    y⟩|. Then w = θ = 0 is a global minimum for λ ≥ (½λ*‖y‖)^{2/3}. If y is parallel to a column that attains
    λ*, it is a global minimum for no smaller λ.

    Hypotheses: The entries of β are 2t³ with rational t; X and y are any integer design and response.

    Consequences: The penalty is concave in |β|. All weights are zero above a critical λ. But the minimiser
    jumps at this λ, whereas the solution of Sequential LASSO (Algorithm 3) is continuous at λ*. The exponent
    2/3 is the exponent of a product of three factors (Hoff, 2017).
    """

    def as_derived(_):
        v, t = fractions(check.rng, 2, 1)
        excess = decay_of_square(v, 2 * t**3) - 3 * t * t
        X, y = check.rng.integers(-2, 3, (3, 3)), check.rng.integers(-3, 4, 3)
        lam = Fraction(int(check.rng.integers(1, 9)), 8)
        small = fractions(check.rng, 6)
        weights, theta = small.reshape(2, 3) * lam / (13 * max(int(abs(X.T @ y).max()), 1))
        above = lam * (weights @ weights + theta @ theta) / 2 - decrease(X, y, weights**2 * theta)
        right = excess == (v - 2 * t * t) ** 2 * (v + t * t) / v**2 >= 0 and (above > 0) == any(small)
        roots = fractions(check.rng, 3, 1) * check.rng.choice([-1, 1], 3) / 12
        right = right and not_below_zero(X, y, 2 * roots**2, 2 * roots**3)[0]
        a, root = X[:, :1], np.array([Fraction(int(check.rng.integers(1, 5)))])  # y = 4t³a: equal at β = 2t³
        return right and not_below_zero(a, a @ (4 * root**3), 2 * root**2, 2 * root**3) == (True, True)

    check.over(range(check.cases), as_derived)


def decay_of_simplex(s, beta):
    """Return Σ β_i²/s_i², the limit of ‖w‖² + ‖θ‖² as w → 0 with a fixed mask s."""
    return ((beta / s) ** 2).sum()


@claim("ours-mask-normalized-penalty", SECTION, "proof, exact", HOLDS, cases=1500)
@mutants("decay_of_simplex")
@ctx.workprec(128)
def test_the_normalised_masks(check):
    """The penalty on β that each of the two normalised masks, |w_i|/Σ|w_j| and w_i²/Σw_j², induces is
    (λ/2)(Σ|β_i|^{2/3})³. This penalty is an infimum that no w attains. The penalty (λ/2)Q*(β∘β) of softmax is
    never smaller.

    Hypotheses: The entries of β are t³ with rational t. Q*(β∘β) is the infimum of ‖w‖² + Σ β_i²/softmax_i(w)²
    over w.

    Consequences: Both normalised masks have the same minimisers β. They have no λ* in the sense of Algorithm
    3. For λ far below and for λ far above ‖Xᵀy‖∞, the minimisers are shrunk but not zero, as with the ridge
    penalty.
    """

    def as_derived(_):
        m = int(check.rng.integers(1, 6))
        t, s = fractions(check.rng, m, 1), fractions(check.rng, m, 1)
        s, best = s / s.sum(), t @ t
        attained, other = decay_of_simplex(t * t / best, t**3), decay_of_simplex(s, t**3)
        # at any w with that mask ‖w‖² > 0 is added
        norm = s @ s * Fraction(1, int(check.rng.integers(1, 1000)))
        return (
            attained == best**3 <= other
            and (other == attained) == all(s * best == t * t)
            and attained + norm > attained
        )

    check.over(range(check.cases), as_derived)


def gain(z, X, y, lam):
    """Return R(z) = ‖y‖² − λyᵀ(λI + X diag(z)Xᵀ)⁻¹y, in the number type of z.

    The value is computed as Σ_S λ^{d−|S|} z_S (‖y‖² det G_S − det G_{S+y}) / Σ_S λ^{d−|S|} z_S det G_S, where
    z_S is the product of z_i over i ∈ S, and G is the Gram matrix of the columns and y.
    """
    above, below = 0 * lam, 0 * lam
    for S, inside, fit in minors(tuple(map(tuple, X.T.tolist())), tuple(y.tolist())):
        weight = math.prod((z[i] for i in S), start=lam ** (len(z) - len(S)))
        above, below = above + weight * fit, below + weight * inside
    return above / below


@claim("ours-masks-two-columns", SECTION, "proof, exact", HOLDS)
@mutants("gain")
@ctx.workprec(128)
def test_equal_lengths(check):
    """For two columns of equal length, every mask of Section 4.2 gives its largest weight to the feature with
    the larger |⟨X_i, y⟩|. This holds at every global minimiser that is not zero, for every λ > 0.

    Hypotheses: X has two columns with ‖X_1‖ = ‖X_2‖, and |⟨X_1, y⟩| ≠ |⟨X_2, y⟩|.

    Unchecked: The infima of the normalised masks are not attained; the check takes them as limits for w → 0.
    """

    def larger_weight_to_larger_correlation(_):
        n = int(check.rng.integers(2, 6))
        X, y = check.rng.integers(-2, 3, (n, 2)), check.rng.integers(-3, 4, n)
        X[:, 1] = check.rng.permutation(X[:, 0]) * check.rng.choice([-1, 1], n)
        (c, e), g, h = (X.T @ y).tolist(), int(X[:, 0] @ X[:, 0]), int(X[:, 0] @ X[:, 1])
        z, lam = fractions(check.rng, 2, 0), Fraction(int(check.rng.integers(1, 30)), 7)
        determinant = (lam + g * z[0]) * (lam + g * z[1]) - z[0] * z[1] * h**2
        value = gain(z, X, y, lam)
        return (
            value - gain(z[::-1], X, y, lam) == lam * (z[0] - z[1]) * (c**2 - e**2) / determinant
            and value == mask_value(z, X, y, lam) <= int(y @ y)
            and (value > 0) == bool(z[0] * c or z[1] * e)
            and value >= 0
        )

    check.over(range(check.cases), larger_weight_to_larger_correlation)


# columns of length 3, Xᵀy = (7, 6, 5): OMP takes 0, and so does |w| in its window. Columns 1 and 2, at an
# obtuse angle, explain more of y together. With X/3, y/3, λ/9, unit columns, R and the decay are divided by 9
EQUAL = np.array([[2, 0, 2], [1, 0, -1], [2, 3, -2]]), np.array([3, -3, 2])


def departs(check, parametrization, lam, boxes, scales=(1, 1)):
    """Check that OMP takes feature 0, that another feature has the largest weight at the global minimum under
    a mask, and that the descent under this mask takes feature 1.
    """
    X, y = (part / scale for part, scale in zip(EQUAL, scales, strict=True))
    path = sl.sequential_attention(X, y, 1, parametrization=parametrization, lam=lam)
    check.tally(max(boxes, 1), int(step(X, y).tied != (0,) or boxes < 0), "no certificate")
    check.tally(1, int(path.support.tolist() != [1] or path.weights[0].argmax() != 1), "the descent picks 0")
    check.measured(f"{parametrization}: certified by {boxes} boxes")


def not_largest(first, others):
    """Return whether the first of some numbers, each in an interval, cannot be the largest."""
    return any(first[1] < other[0] for other in others)


@claim("ours-mask-normalized-departs", SECTION, "proof, exact, float", HOLDS)
@mutants("sl.sequential_attention", "gain")
@ctx.workprec(128)
def test_normalised_masks_depart(check):
    """Under a normalised mask, the feature with the largest weight need not be OMP's pick, even for columns
    of equal length. An example is X = [[2, 0, 2], [1, 0, −1], [2, 3, −2]], y = (3, −3, 2), λ = 1.

    Hypotheses: Xᵀy = (7, 6, 5). The check proves that the mask s = (0, ½, ½) has a lower objective than every
    mask s with s₁ ≥ s₂ and s₁ ≥ s₃. The objective is ½‖y‖² − ½R(s∘s) with R(z) = ‖y‖² − λyᵀ(λI + X
    diag(z)Xᵀ)⁻¹y. With the unit columns X/3 and the unit vector y/√22, the problem at λ = 1/9 is the same.

    Consequences: As λ → ∞, R(s∘s) tends to Σ s_i²c_i²/λ with c = Xᵀy, and then these masks pick OMP's
    feature.
    """
    half = Fraction(1, 2)
    value = gain((Fraction(0), half**2, half**2), *EQUAL, 1)

    def below(box):  # −R on a box of (s₂, s₃)
        (a, b), (c, e) = box
        first = (1 - b - e, 1 - a - c)
        if first[1] < 0 or not_largest(first, box):
            return 0
        return -gain((first[1] ** 2, b**2, e**2), *EQUAL, 1)

    boxes = subdivided([((Fraction(0), half), (Fraction(0), half))], lambda box: below(box) > -value)
    for parametrization in ("l1_normalized", "l2_normalized"):
        departs(check, parametrization, 1.0, boxes)


@claim("ours-mask-l2-departs", SECTION, "proof, exact, float", HOLDS)
@mutants("sl.sequential_attention", "gain")
@ctx.workprec(128)
def test_squares_depart(check):
    """Under the mask s_i = w_i², the feature with the largest weight need not be OMP's pick, even for columns
    of equal length. An example is X = [[2, 0, 2], [1, 0, −1], [2, 3, −2]], y = (3, −3, 2), λ = 1. The same
    holds at λ = 4, below the critical λ (4.25, in floating point) from which on w = 0 is the minimum.

    Hypotheses: Xᵀy = (7, 6, 5). The check proves that v = (0, 7/4, 7/4), where v_i = w_i², has a lower
    objective than every v with v₁ ≥ v₂ and v₁ ≥ v₃. At λ = 4 the same holds for v = (0, 5/4, 5/4). With the
    unit columns X/3 and the unit vector y/√22, the problem at (9/22)^{2/3}λ/9 is the same.

    Unchecked: A descent at λ = 4 is not checked, because it ends at the local minimum 0.
    """
    square = int(EQUAL[1] @ EQUAL[1])

    def certified(lam, v):
        def twice(low, high):  # a lower bound of 2F − ‖y‖²; its value where low = high
            return lam * sum(low) - gain([a**2 for a in high], *EQUAL, lam)

        def below(box):
            first, *others = box
            return 1 if not_largest(first, others) else twice(*zip(*box, strict=True))

        best = twice((0, v, v), (0, v, v))
        # from v₁ = (‖y‖² + best)/λ on, 2F − ‖y‖² ≥ λv₁ − ‖y‖² ≥ best
        return subdivided([((Fraction(0), (square + best) / lam),) * 3], lambda box: below(box) > best)

    boxes = certified(1, Fraction(7, 4)), certified(4, Fraction(5, 4))
    check.tally(max(boxes[1], 1), int(boxes[1] < 0), "no certificate at λ = 4")
    departs(check, "l2", 1.0, boxes[0])


@claim("ours-mask-softmax-departs", SECTION, "proof, interval, float", HOLDS)
@mutants("sl.sequential_attention", "gain")
@ctx.workprec(128)
def test_softmax_departs(check):
    """Under the softmax mask, the feature with the largest weight need not be OMP's pick, even for columns of
    equal length. An example is X = [[2, 0, 2], [1, 0, −1], [2, 3, −2]], y = (3, −3, 2), λ = ¼. An example
    with unit columns and unit y is X/3, y/√22, λ = 1/36.

    Hypotheses: Xᵀy = (7, 6, 5), and Σw_i = 0 at a minimiser. The check proves that w = (−5/4, 5/8, 5/8) has a
    lower objective than every w with w₁ ≥ w₂ and w₁ ≥ w₃. In the second example this w is (−7/8, 7/16, 7/16).
    """
    lam = Fraction(1, 4)

    def largest(i, low, high):
        """Return the largest softmax_i(w) for low ≤ w ≤ high."""
        return 1 / (1 + total([ball(low[j] - high[i]).exp() for j in range(3) if j != i]))

    def certified(decay, v):
        """Return whether decay·‖w‖² − R(p∘p), p = softmax(w), λ = ¼, is lower at (−2v, v, v) than where w₁ is
        largest.
        """

        def least(low, high):  # on low ≤ w ≤ high; the value where low = high
            norm = sum(max(a, -b, Fraction(0)) ** 2 for a, b in zip(low, high, strict=True))
            z = [largest(i, low, high) ** 2 for i in range(3)]
            return ball(decay * norm) - gain(z, *EQUAL, ball(lam))

        def below(box):  # of (w₂, w₃)
            (a, b), (c, e) = box
            first = (-b - e, -a - c)
            return arb(1) if not_largest(first, box) else least((first[0], a, c), (first[1], b, e))

        best, side = least((-2 * v, v, v), (-2 * v, v, v)), (Fraction(-6), Fraction(6))
        # w₂ or w₃ beyond ±6: decay·‖w‖² ≥ 36·decay ≥ 9, and R ≤ ‖y‖² = 22
        return subdivided([(side, side)], lambda box: below(box) > best) if best < 9 - 22 else -1

    departs(check, "softmax", 0.25, certified(lam, Fraction(5, 8)))
    # 22 times the objective of X/3, y/√22 at λ/9
    departs(check, "softmax", 0.25 / 9, certified(lam * 22 / 9, Fraction(7, 16)), (3, 22**0.5))


@claim("ours-masks-agreement", SECTION, "float", EMPIRICAL, cases=400, ci_cases=12)
@mutants("sl.sequential_attention")
@ctx.workprec(128)
def test_how_often_each_mask_agrees(check):
    """For each mask at its default λ, the share of steps in which OMP could make the same pick from the same
    S is the measured one.

    Hypotheses: The unit columns and y are Gaussian noise, and 3 steps are taken. The default λ is (λ* + λ₂)/2
    for |w|, where (λ₂, λ*) is the window of the step; it is ¼(λ*⁴/4)^{1/3} for w², and 1 for the normalised
    masks and softmax (with ‖y‖ = 4).

    Unchecked: The check does not try other λ or other designs, and it does not decide whether a descent found
    a global minimum.
    """
    for n, d in ((10, 15), (50, 100)):
        picks = {name: [] for name in MASKS}
        for _ in range(max(check.cases // (1 if d < 50 else 4), 6)):
            X, y = check.rng.normal(size=(n, d)), check.rng.normal(size=n)
            X, y = X / np.linalg.norm(X, axis=0), 4 * y / np.linalg.norm(y)
            seed = int(check.rng.integers(1 << 30))
            for name in MASKS:
                path = sl.sequential_attention(X, y, 3, parametrization=name, rng=seed)
                check.undecided(path.status is sl.Status.MAX_ITER)
                for t, pick in enumerate(path.support.tolist()):
                    S = path.support[:t]
                    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0]
                    picks[name].append(pick == int(np.argmax(np.abs(X.T @ r))))
        share = {name: sum(picks[name]) / len(picks[name]) for name in MASKS}
        strange = share["l1"] < 1 or not 0.2 < share["l2"] < 0.9
        strange = strange or min(share[name] for name in MASKS if name != "l2") < 0.85
        check.tally(sum(map(len, picks.values())), int(strange), f"{share}")
        shares = ", ".join(f"{name} {100 * share[name]:.1f} %" for name in MASKS)
        check.measured(f"n = {n}, d = {d}: {shares} of {len(picks['l1'])} steps each")


@claim("SA-section-4.2-indistinguishable", f"Section 4.2 with Table 10 {BOTH}", "exact", EMPIRICAL)
@mutants("apart")
@ctx.workprec(128)
def test_table_10(check):
    """Regularized linear Sequential Attention (ℓ₁ in Table 10) yields results almost indistinguishable from
    the softmax version.

    Hypotheses: The figures are those of Table 10. The sentence is informal; the intervals, mean ± standard
    deviation, are our choice.

    Unchecked: The figures themselves are not checked. Their significance is not checked either, because the
    number of runs is not printed.
    """
    lower = {name: row[0][0] - row[1][0] for name, row in TABLE_10.items()}
    worst = max(lower, key=lower.get)
    every = itertools.product(TABLE_10, range(1, 5))
    pairs = [(name, i) for name, i in every if apart(TABLE_10[name][0], TABLE_10[name][i])]
    linear = [name for name, i in pairs if i == 1]
    right = pairs == [("MNIST-Fashion", 1), ("ISOLET", 1), ("Activity", 4)]
    check.tally(24, int(not right), f"{pairs}")
    check.measured(
        f"ℓ₁ is lower than softmax by at most {lower[worst] / 1000:.3f} ({worst}); the intervals mean ± s.d. "
        f"are disjoint on {len(linear)} of 6 data sets ({', '.join(linear)}), and in {len(pairs)} of 24 "
        "comparisons over all masks"
    )


def training_loss(w, theta, c, tau):
    """Return −⟨c, softmax(w/τ)∘θ⟩."""
    p = softmax([a / tau for a in w])
    return -total([a * b * t for a, b, t in zip(p, c, theta, strict=True)])


def gradients(w, theta, c, tau):
    """Return the gradients of `training_loss` in w and in θ."""
    p, mean = softmax([a / tau for a in w]), -training_loss(w, theta, c, tau)
    in_w = [-a * (b * t - mean) / tau for a, b, t in zip(p, c, theta, strict=True)]
    return in_w, [-a * b for a, b in zip(p, c, strict=True)]


def plain(slopes):
    """Return the plain gradient step of learning rate 1, computed from the gradients so far."""
    return [-a for a in slopes[-1]]


def adam(slopes):
    """Return the step of Adam with ε = 0 and learning rate 1, computed from the gradients so far."""
    first, second = arb(9) / 10, arb(999) / 1000
    k, steps = len(slopes), []
    for each in zip(*slopes, strict=True):
        m = total([first ** (k - 1 - i) * a for i, a in enumerate(each)]) * (1 - first)
        v = total([second ** (k - 1 - i) * a * a for i, a in enumerate(each)]) * (1 - second)
        steps.append(-m / (1 - first**k) / (v / (1 - second**k)).sqrt())
    return steps


def trained(w, theta, c, tau, rule, rate, other):
    """Return w and θ after three steps, with the learning rate `rate` for w and `other` for θ."""
    in_w, in_theta = [], []
    for _ in range(3):
        for seen, slope in zip((in_w, in_theta), gradients(w, theta, c, tau), strict=True):
            seen.append(slope)
        w = [a + rate * b for a, b in zip(w, rule(in_w), strict=True)]
        theta = [a + other * b for a, b in zip(theta, rule(in_theta), strict=True)]
    return w, theta


def like_a_learning_rate(w, theta, c, tau, rule, power):
    """Return whether training with τ moves u = w/τ and θ as training without τ does, at rate η/τ^power for
    u."""
    u, rate, other = [a / tau for a in w], arb(1) / 8, arb(1) / 16
    with ctx.workprec(512):  # a saturated mask cancels digits
        at_w, at_theta = trained(w, theta, c, tau, rule, rate, other)
        at_u, direct = trained(u, theta, c, arb(1), rule, rate / tau**power, other)
    ours, theirs = [a / tau for a in at_w] + at_theta, at_u + direct
    return alike(ours, theirs) and all(
        a.rad() + b.rad() < 2.0**-30 for a, b in zip(ours, theirs, strict=True)
    )


def first_slope(w, theta, c, tau):
    """Return the difference quotient of the loss in w₁ with step 2⁻²⁴, and a bound on its error."""
    h = arb(2) ** -24
    scale = total([abs(a * b) for a, b in zip(c, theta, strict=True)]) / tau**2
    change = training_loss([w[0] + h, *w[1:]], theta, c, tau) - training_loss(w, theta, c, tau)
    return change / h, 4 * h * scale + arb(2) ** -30


@claim("SA-B.2.4-temperature", f"Appendix B.2.4 {BOTH}", "proof, interval", FALSE, cases=500)
@mutants("gradients", "softmax", "plain", "adam")
@ctx.workprec(128)
def test_temperature_is_no_learning_rate(check):
    """The softmax mask scales the gradient updates of the model weights down when d is large. A temperature
    in the softmax counteracts this effect, and can be considered equivalent to a higher learning rate.

    Hypotheses: Gradient steps are taken on any loss with the mask s = softmax(w/τ), where τ is the
    temperature, θ are the model weights, and w starts at the uniform mask. Adam has ε = 0.

    Instead: Σ s_i = 1 at every τ, and s_i = 1/d at w = 0. So for every τ, the gradient in θ is 1/d of the
    gradient without a mask, while a higher learning rate η multiplies the step. The temperature acts only on
    w: u = w/τ moves as with the learning rate η/τ² under plain gradient steps, and as with η/τ under Adam.

    Consequences: The theory of the paper is not affected.
    """
    zero, one, c = [arb(0)] * 4, [arb(1)] * 4, balls([1, 2, 3, 4])
    cold, warm = (gradients(zero, one, c, tau)[1] for tau in (arb(1) / 8, arb(1)))
    check.refutes(
        alike(cold, [b / -4 for b in c]) and alike(cold, warm),
        "d = 4, w = 0: the gradient in θ is −c/4 at τ = ⅛ as at τ = 1; twice the learning rate doubles the "
        "step",
    )

    def only_in_the_logits(_):
        d, tau = int(check.rng.integers(2, 7)), arb(int(check.rng.integers(1, 30))) / 8
        w, theta, c = map(balls, check.rng.normal(size=(3, d)))
        in_w, in_theta = gradients(w, theta, c, tau)
        in_u, direct = gradients([a / tau for a in w], theta, c, arb(1))
        slope, error = first_slope(w, theta, c, tau)
        return (
            alike([a * tau for a in in_w], in_u)
            and alike(in_theta, direct)
            and alike([total([a / -b for a, b in zip(in_theta, c, strict=True)])], [arb(1)])
            and bool(abs(slope - in_w[0]) <= error)
            and like_a_learning_rate(w, theta, c, tau, plain, 2)
            and like_a_learning_rate(w, theta, c, tau, adam, 1)
        )

    check.over(range(check.cases), only_in_the_logits)
