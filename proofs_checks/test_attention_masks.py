"""Section 4.2: the other masks, the penalties they induce, and whether they still pick OMP's feature.

Source: *Sequential Attention for Feature Selection*, Section 4.2, B.2.4, B.5 and Table 10 (ICLR and NeurIPS
submission, with the same numbers). The masks, for i ∈ S̄ with sums over S̄: softmax, |w_i| ("which captures
the provable variant"), w_i², |w_i|/Σ|w_j|, w_i²/Σw_j².

With β = s(w)∘θ and (λ/2)(‖w‖² + ‖θ‖²), eliminating θ leaves (λ/2)·inf_w ‖w‖² + Σ β_i²/s_i(w)² as the penalty:

- |w|: inf w² + β²/w² = 2|β|, that is λ‖β‖₁. The same problem as with w, at (|w|, sign(w)θ).
- w²: with v = w² and β = 2t³, v + β²/v² − 3t² = (v − 2t²)²(v + t²)/v² ≥ 0, so 3t² = 3·2^{−2/3}|β|^{2/3}, at v
  = 2t². As |w_i²θ_i| is of third order, w = θ = 0 is a strict local minimum for every λ > 0.
- normalised: s does not change with the scale of w, so ‖w‖² → 0 costs nothing: inf over the simplex of Σ
  β_i²/s_i², which is (Σ|β_i|^{2/3})³ by Hölder, at s ∝ |β|^{2/3}; not attained in w (β = 0 included), as w =
  0 has no mask.

What is picked. For fixed s, z = s∘s and β eliminated, the least of ½‖y − X(s∘θ)‖² + (λ/2)‖θ‖² is ½‖y‖² −
½R(z), with R(z) = ‖y‖² − λyᵀ(λI + X diag(z)Xᵀ)⁻¹y, increasing in every z_i. For two columns of lengths² g₁,
g₂, inner product h and correlations c,

    R = [z₁c₁²(λ + z₂g₂) + z₂c₂²(λ + z₁g₁) − 2z₁z₂hc₁c₂] / [(λ + z₁g₁)(λ + z₂g₂) − z₁z₂h²].

If g₁ = g₂, R(z₁, z₂) − R(z₂, z₁) = λ(z₁ − z₂)(c₁² − c₂²)/[…]: as the decay is symmetric, the smaller |c_i|
never has the larger weight, and z₁ = z₂ > 0 is not stationary. So every mask gives its largest weight to the
larger |c_i|, for every λ. With unequal lengths that ends, and the witnesses below are such; |w| alone keeps
to OMP, in its window. As R is monotone, λ·inf(decay) − R(upper corner) bounds ‖w‖²λ − R below on a box: a
finite subdivision certifies on which side the global minimum lies.
"""

import functools
import itertools
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.rational import fraction, inner, rational, segment, step
from sparselin.ledger import Verdict, claim

SECTION = "Section 4.2 (ICLR, NeurIPS submission)"
MASKS = ("softmax", "l1", "l2", "l1_normalized", "l2_normalized")


def precisely(check):
    """The check at 128 bits, whatever else has set."""

    @functools.wraps(check)
    def at_128_bits(*arguments):
        with ctx.workprec(128):
            check(*arguments)

    return at_128_bits


def fractions(rng, d, low=-12):
    return [
        Fraction(int(a), int(b)) for a, b in zip(rng.integers(low, 13, d), rng.integers(1, 7, d), strict=True)
    ]


@claim(
    "SA-section-4.2-l1",
    paper="SA",
    number=SECTION,
    statement="The mask s_i(w) = |w_i| captures the provable variant: the same penalty λ‖β‖₁, and picks that "
    "OMP could make.",
    hypotheses="λ in the window, ties included",
    method="proof, exact, float",
    verdict=Verdict.HOLDS,
    unchecked="descents that come to no decision",
    mutants=("sl.sequential_attention",),
    cases=3000,
    ci_cases=40,
)
@precisely
def test_the_absolute_value_captures_the_provable_variant(check):
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


def decay_of_square(w, beta):
    """w² + θ² where w²θ = β."""
    return w * w + (beta / (w * w)) ** 2


@claim(
    "ours-mask-l2-penalty",
    paper="ours",
    number=SECTION,
    statement="With s_i = w_i² the induced penalty is (λ/2)·3·2^{−2/3} Σ|β_i|^{2/3}, attained at w_i² = "
    "2^{1/3}|β_i|^{2/3}; and w = θ = 0 is a strict local minimum of least squares for every λ > 0.",
    hypotheses="β = 2t³ with rational t; any X, y",
    method="proof, exact",
    verdict=Verdict.HOLDS,
    consequences="It is concave in |β|, and it has no λ*: 0 is a local minimiser for every λ > 0.",
    mutants=("decay_of_square",),
)
@precisely
def test_the_square(check):
    def as_derived(_):
        w, t = fractions(check.rng, 2, 1)
        excess = decay_of_square(w, 2 * t**3) - 3 * t * t
        v = w * w
        small = fractions(check.rng, 6)
        X, y = check.rng.integers(-2, 3, (3, 3)), check.rng.integers(-3, 4, 3)
        lam = Fraction(int(check.rng.integers(1, 9)), 8)
        c = max(int(abs(X.T @ y).max()), 1)
        a, b = ([s * lam / (13 * c) for s in part] for part in (small[:3], small[3:]))
        fit = [int(y[k]) - sum(int(X[k, i]) * a[i] ** 2 * b[i] for i in range(3)) for k in range(3)]
        value = sum(r * r for r in fit) / 2 + lam / 2 * (sum(s * s for s in a) + sum(s * s for s in b))
        local = value > Fraction(int(y @ y), 2) or not any(small)
        return excess == (v - 2 * t * t) ** 2 * (v + t * t) / v**2 >= 0 and local

    check.over(range(check.cases), as_derived)


def decay_of_simplex(s, beta):
    """Σ β_i²/s_i²: what is left of ‖w‖² + ‖θ‖² as w → 0 with the mask s."""
    return sum((b / a) ** 2 for a, b in zip(s, beta, strict=True))


@claim(
    "ours-mask-normalized-penalty",
    paper="ours",
    number=SECTION,
    statement="With either normalised mask the induced penalty is (λ/2)(Σ|β_i|^{2/3})³, an infimum that no w "
    "attains; Q*(β∘β) of softmax is never smaller.",
    hypotheses="β = t³ with rational t",
    method="proof, exact",
    verdict=Verdict.HOLDS,
    consequences="Both normalised masks have the same minimisers β, and no λ* in the sense of Algorithm 3: "
    "far below and above λ* they shrink, as the ridge penalty does.",
    mutants=("decay_of_simplex",),
    cases=1500,
)
@precisely
def test_the_normalised_masks(check):
    def as_derived(_):
        m = int(check.rng.integers(1, 6))
        t, s = fractions(check.rng, m, 1), fractions(check.rng, m, 1)
        beta = [a**3 for a in t]
        best = sum(a * a for a in t)
        s = [a / sum(s) for a in s]
        attained = decay_of_simplex([a * a / best for a in t], beta)
        other = decay_of_simplex(s, beta)
        parallel = all(a * best == b * b for a, b in zip(s, t, strict=True))
        # at any w with that mask ‖w‖² > 0 is added
        norm = sum(a * a for a in s) * Fraction(1, int(check.rng.integers(1, 1000)))
        return attained == best**3 <= other and (other == attained) == parallel and attained + norm > attained

    check.over(range(check.cases), as_derived)


def gain(z, X, y, lam):
    """R(z) for two columns, in the arithmetic of z."""
    (g1, h), (_, g2) = (X.T @ X).astype(int).tolist()
    c1, c2 = (X.T @ y).astype(int).tolist()
    u, v = lam + z[0] * g1, lam + z[1] * g2
    return (z[0] * c1**2 * v + z[1] * c2**2 * u - 2 * z[0] * z[1] * h * c1 * c2) / (
        u * v - z[0] * z[1] * h**2
    )


@claim(
    "ours-masks-two-columns",
    paper="ours",
    number=SECTION,
    statement="For two columns of equal length every mask of Section 4.2 gives its largest weight to the "
    "larger |⟨X_i, y⟩| at every global minimiser that is not zero, for every λ > 0.",
    hypotheses="X (n, 2) with ‖X_1‖ = ‖X_2‖, |c_1| ≠ |c_2|",
    method="proof, exact",
    verdict=Verdict.HOLDS,
    unchecked="the infima of the normalised masks are taken as limits w → 0",
    mutants=("gain",),
)
@precisely
def test_equal_lengths(check):
    def larger_weight_to_larger_correlation(_):
        n = int(check.rng.integers(2, 6))
        X, y = check.rng.integers(-2, 3, (n, 2)), check.rng.integers(-3, 4, n)
        X[:, 1] = check.rng.permutation(X[:, 0]) * check.rng.choice([-1, 1], n)
        c = X.T @ y
        z, lam = fractions(check.rng, 2, 0), Fraction(int(check.rng.integers(1, 30)), 7)
        (u, v), h = (lam + int(X[:, 0] @ X[:, 0]) * a for a in z), int(X[:, 0] @ X[:, 1])
        difference = gain(z, X, y, lam) - gain(z[::-1], X, y, lam)
        formula = lam * (z[0] - z[1]) * int(c[0] ** 2 - c[1] ** 2) / (u * v - z[0] * z[1] * h**2)
        value = gain(z, X, y, lam)
        A, ridge = rational(X), fmpq(lam.numerator, lam.denominator)
        scales = fmpq_mat(
            2, 2, [fmpq(z[0].numerator, z[0].denominator), 0, 0, fmpq(z[1].numerator, z[1].denominator)]
        )
        M = A * scales * A.transpose() + ridge * fmpq_mat(
            n, n, [int(i == j) for i in range(n) for j in range(n)]
        )
        defined = int(y @ y) - fraction(ridge * inner(rational(y), M.solve(rational(y))))
        return (
            difference == formula
            and value == defined
            and 0 <= value <= int(y @ y)
            and (value > 0) == bool(z[0] * c[0] or z[1] * c[1])
        )

    check.over(range(check.cases), larger_weight_to_larger_correlation)


def boxes_above(boxes, below, target, limit=20_000):
    """How many boxes it takes to show that a function exceeds `target` on all of them; −1 if that fails.

    `below(box)` bounds the function from below on a box, a tuple of (low, high).
    """
    boxes, count = list(boxes), 0
    while boxes:
        box = boxes.pop()
        count += 1
        if count > limit:
            return -1
        if below(box) > target:
            continue
        widest = max(range(len(box)), key=lambda i: box[i][1] - box[i][0])
        low, high = box[widest]
        middle = (low + high) / 2
        boxes += [(*box[:widest], half, *box[widest + 1 :]) for half in ((low, middle), (middle, high))]
    return count


# orthogonal columns of lengths 3 and 1, Xᵀy = (3, 2): OMP takes 0; for λ in (2, 3) so does |w|
UNEQUAL = np.diag([3.0, 1.0]), np.array([1.0, 2.0])


def departs(check, parametrization, lam, certified, boxes):
    """OMP takes 0, the global minimum has its largest weight at 1, and the descent takes 1."""
    X, y = UNEQUAL
    path = sl.sequential_attention(X, y, 1, parametrization=parametrization, lam=lam)
    check.tally(max(boxes, 1), int(step(X, y).tied != (0,) or boxes < 0 or not certified), "no certificate")
    check.tally(1, int(path.support.tolist() != [1] or path.weights[0].argmax() != 1), "the descent picks 0")
    check.measured(f"{parametrization}: certified by {boxes} boxes")


@claim(
    "ours-mask-normalized-departs",
    paper="ours",
    number=SECTION,
    statement="With either normalised mask the feature of largest weight need not be OMP's, even for "
    "orthogonal columns: X = diag(3, 1), y = (1, 2), λ = 1.",
    hypotheses="Xᵀy = (3, 2); s = (0, 1) gives R = 2, and R < 2 wherever s₁ ≥ ½",
    method="proof, exact, float",
    verdict=Verdict.HOLDS,
    consequences="For λ → ∞ R tends to Σ s_i²c_i²/λ, and they do pick OMP's.",
    mutants=("sl.sequential_attention", "gain"),
)
@precisely
def test_normalised_masks_depart(check):
    at_one = gain((Fraction(0), Fraction(1)), *UNEQUAL, 1)

    def below(box):  # −R on a piece of s₁
        low, high = box[0]
        return -gain((high**2, (1 - low) ** 2), *UNEQUAL, 1)

    boxes = boxes_above([((Fraction(1, 2), Fraction(1)),)], below, -at_one)
    for parametrization in ("l1_normalized", "l2_normalized"):
        departs(check, parametrization, 1.0, at_one == 2, boxes)


@claim(
    "ours-mask-l2-departs",
    paper="ours",
    number=SECTION,
    statement="With s_i = w_i² the feature of largest weight need not be OMP's, even for orthogonal columns: "
    "X = diag(3, 1), y = (1, 2), λ = ¼.",
    hypotheses="Xᵀy = (3, 2); v = w² = (½, 2) has a lower objective than every v with v₁ ≥ v₂",
    method="proof, exact, float",
    verdict=Verdict.HOLDS,
    mutants=("sl.sequential_attention", "gain"),
)
@precisely
def test_squares_depart(check):
    lam = Fraction(1, 4)

    def twice(v):  # 2F − ‖y‖²
        return lam * (v[0] + v[1]) - gain((v[0] ** 2, v[1] ** 2), *UNEQUAL, lam)

    best = twice((Fraction(1, 2), Fraction(2)))

    def below(box):
        (a, b), (c, e) = box
        return Fraction(1) if c > b else lam * (a + c) - gain((b**2, e**2), *UNEQUAL, lam)

    # beyond v₁ = 8, 2F − ‖y‖² ≥ 8λ − ‖y‖² = −3 > best
    boxes = boxes_above([((Fraction(0), Fraction(8)), (Fraction(0), Fraction(8)))], below, best)
    departs(check, "l2", 0.25, best < -3, boxes)


@claim(
    "ours-mask-softmax-departs",
    paper="ours",
    number=SECTION,
    statement="With softmax the feature of largest weight need not be OMP's, even for orthogonal columns: X "
    "= diag(3, 1), y = (1, 2), λ = 1.",
    hypotheses="Xᵀy = (3, 2); at a minimiser w = (a, −a), and the objective is lower at a = −3/16 than for "
    "every a ≥ 0",
    method="proof, interval, float",
    verdict=Verdict.HOLDS,
    mutants=("sl.sequential_attention", "gain"),
)
@precisely
def test_softmax_departs(check):
    def mask(a):
        return 1 / (1 + (-2 * arb(a.numerator) / a.denominator).exp())

    def twice(low, high):  # a lower bound of 2F − ‖y‖² for 0 ≤ low ≤ a ≤ high; its value where low = high
        s, t = mask(high), 1 - mask(low)
        return 2 * (arb(low.numerator) / low.denominator) ** 2 - gain((s * s, t * t), *UNEQUAL, arb(1))

    best = twice(Fraction(-3, 16), Fraction(-3, 16))
    # beyond a = 2, 2F − ‖y‖² ≥ 8 − ‖y‖² > 0
    boxes = boxes_above([((Fraction(0), Fraction(2)),)], lambda box: twice(*box[0]), best)
    departs(check, "softmax", 1.0, bool(best < arb(-1.5)), boxes)


@claim(
    "ours-masks-agreement",
    paper="ours",
    number=SECTION,
    statement="How often each mask picks, at its default λ, a feature that OMP could have picked from the "
    "same S.",
    hypotheses="Gaussian unit columns and Gaussian y: pure noise, 3 steps; λ by default: (λ* + λ₂)/2 for "
    "|w|, ¼(λ*⁴/4)^{1/3} for w², 1 for the normalised masks and softmax (with ‖y‖ = 4)",
    method="float",
    verdict=Verdict.EMPIRICAL,
    unchecked="other λ, other designs; whether a descent found a global minimum",
    mutants=("sl.sequential_attention",),
    cases=400,
    ci_cases=12,
)
@precisely
def test_how_often_each_mask_agrees(check):
    for n, d in ((10, 15), (50, 100)):
        shares = dict.fromkeys(MASKS, 0)
        steps = dict.fromkeys(MASKS, 0)
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
                    shares[name] += pick == int(np.argmax(np.abs(X.T @ r)))
                    steps[name] += 1
        total = {name: shares[name] / steps[name] for name in MASKS}
        strange = total["l1"] < 1 or not 0.2 < total["l2"] < 0.9
        strange = strange or min(total[name] for name in MASKS if name != "l2") < 0.85
        check.tally(sum(steps.values()), int(strange), f"{total}")
        told = ", ".join(f"{name} {100 * total[name]:.1f} %" for name in MASKS)
        check.measured(f"n = {n}, d = {d}: {told} of {steps['l1']} steps each")


# accuracies and standard deviations in thousandths: softmax, ℓ₁, ℓ₂, ℓ₁ normalised, ℓ₂ normalised
TABLE_10 = {
    "Mice Protein": ((990, 6), (993, 10), (993, 10), (994, 6), (988, 8)),
    "MNIST": ((958, 2), (957, 1), (958, 2), (958, 1), (957, 1)),
    "MNIST-Fashion": ((850, 2), (843, 4), (850, 3), (853, 1), (852, 2)),
    "ISOLET": ((920, 3), (894, 14), (908, 9), (921, 3), (921, 3)),
    "COIL-20": ((997, 4), (997, 4), (995, 6), (996, 5), (996, 4)),
    "Activity": ((922, 5), (906, 15), (908, 12), (933, 10), (935, 7)),
}


def apart(a, b):
    """Whether mean ± standard deviation of the two do not meet."""
    return abs(a[0] - b[0]) > a[1] + b[1]


@claim(
    "SA-section-4.2-indistinguishable",
    paper="SA",
    number="Section 4.2 with Table 10 (ICLR, NeurIPS submission)",
    statement="Regularized linear Sequential Attention (ℓ₁ in Table 10) yields results almost "
    "indistinguishable from the softmax version.",
    hypotheses="the figures of Table 10; the sentence is informal, and the intervals, mean ± standard "
    "deviation, are ours",
    method="exact",
    verdict=Verdict.EMPIRICAL,
    unchecked="the figures themselves; significance (five runs each)",
    mutants=("apart",),
)
@precisely
def test_table_10(check):
    lower = {name: row[0][0] - row[1][0] for name, row in TABLE_10.items()}
    worst = max(lower, key=lower.get)
    pairs = [
        (name, i)
        for name, i in itertools.product(TABLE_10, range(1, 5))
        if apart(TABLE_10[name][0], TABLE_10[name][i])
    ]
    linear = [name for name, i in pairs if i == 1]
    right = pairs == [("MNIST-Fashion", 1), ("ISOLET", 1), ("Activity", 4)]
    check.tally(24, int(not right), f"{pairs}")
    check.measured(
        f"ℓ₁ is lower than softmax by at most {lower[worst] / 1000:.3f} ({worst}); the intervals mean ± s.d. "
        f"are disjoint on {len(linear)} of 6 data sets ({', '.join(linear)}), and in {len(pairs)} of 24 "
        "comparisons over all masks"
    )


def softmax(u):
    e = [a.exp() for a in u]
    return [a / sum(e, arb(0)) for a in e]


def gradients(w, theta, c, tau):
    """Of −⟨c, softmax(w/τ)∘θ⟩ in w and in θ."""
    p = softmax([a / tau for a in w])
    mean = sum((a * b * t for a, b, t in zip(p, c, theta, strict=True)), arb(0))
    in_w = [-a * (b * t - mean) / tau for a, b, t in zip(p, c, theta, strict=True)]
    return in_w, [-a * b for a, b in zip(p, c, strict=True)]


def plain(slopes):
    """The step from the gradients so far, for learning rate 1."""
    return [-a for a in slopes[-1]]


def adam(slopes):
    """The same for Adam with ε = 0."""
    first, second = arb(9) / 10, arb(999) / 1000
    k, steps = len(slopes), []
    for each in zip(*slopes, strict=True):
        m = sum((first ** (k - 1 - i) * a for i, a in enumerate(each)), arb(0)) * (1 - first)
        v = sum((second ** (k - 1 - i) * a * a for i, a in enumerate(each)), arb(0)) * (1 - second)
        steps.append(-m / (1 - first**k) / (v / (1 - second**k)).sqrt())
    return steps


def trained(w, theta, c, tau, rule, rate, other):
    """w and θ after three steps, of learning rate `rate` in w and `other` in θ."""
    in_w, in_theta = [], []
    for _ in range(3):
        for seen, slope in zip((in_w, in_theta), gradients(w, theta, c, tau), strict=True):
            seen.append(slope)
        w = [a + rate * b for a, b in zip(w, rule(in_w), strict=True)]
        theta = [a + other * b for a, b in zip(theta, rule(in_theta), strict=True)]
    return w, theta


@claim(
    "SA-B.2.4-temperature",
    paper="SA",
    number="Appendix B.2.4 (ICLR, NeurIPS submission)",
    statement="The softmax mask scales the gradient updates of the model weights down when d is large; a "
    "temperature in the softmax counteracts this and can be considered equivalent to a higher learning rate.",
    hypotheses="gradient steps on any loss, mask softmax(w/τ), from the uniform mask to which it is reset; "
    "Adam with ε = 0",
    method="proof, interval",
    verdict=Verdict.FALSE,
    correction="Σ s_i = 1 at every τ, and the mask is 1/d at w = 0: the gradient in θ is 1/d of that without "
    "mask whatever τ is, while a higher learning rate multiplies the step. For the logits alone, u = w/τ "
    "moves with the learning rate η/τ² under plain gradient steps, and η/τ under Adam.",
    consequences="None for the theory.",
    mutants=("gradients", "softmax", "plain", "adam"),
    cases=500,
)
@precisely
def test_temperature_is_no_learning_rate(check):
    zero, one, c = [arb(0)] * 4, [arb(1)] * 4, [arb(1), arb(2), arb(3), arb(4)]
    cold, warm = (gradients(zero, one, c, tau)[1] for tau in (arb(1) / 8, arb(1)))
    check.refutes(
        all((a - b / -4).contains(0) and (a - e).contains(0) for a, b, e in zip(cold, c, warm, strict=True)),
        "d = 4, w = 0: the gradient in θ is −c/4 at τ = ⅛ as at τ = 1; twice the learning rate doubles the "
        "step",
    )

    def only_in_the_logits(_):
        d, tau = int(check.rng.integers(2, 7)), arb(int(check.rng.integers(1, 30))) / 8
        w, theta, c = ([arb(float(a)) for a in row] for row in check.rng.normal(size=(3, d)))
        u = [a / tau for a in w]
        in_w, in_theta = gradients(w, theta, c, tau)
        in_u, direct = gradients(u, theta, c, arb(1))
        moved = all((a * tau - b).contains(0) for a, b in zip(in_w, in_u, strict=True))
        rate, other = arb(1) / 8, arb(1) / 16
        for rule, power in ((plain, 2), (adam, 1)):
            with ctx.workprec(512):  # a saturated mask cancels digits
                at_w, at_theta = trained(w, theta, c, tau, rule, rate, other)
                at_u, like = trained([a / tau for a in w], theta, c, arb(1), rule, rate / tau**power, other)
            pairs = [*zip((a / tau for a in at_w), at_u, strict=True), *zip(at_theta, like, strict=True)]
            moved = moved and all((a - b).contains(0) and (a - b).rad() < 2.0**-30 for a, b in pairs)
        same = all((a - b).contains(0) for a, b in zip(in_theta, direct, strict=True))
        h = arb(2) ** -24  # a difference quotient: gradients are those of the loss
        shifted = [a + h * (i == 0) for i, a in enumerate(w)]
        loss = [
            -sum((a * b * t for a, b, t in zip(softmax([s / tau for s in v]), c, theta, strict=True)), arb(0))
            for v in (w, shifted)
        ]
        quotient = (loss[1] - loss[0]) / h
        scale = sum((abs(a * b) for a, b in zip(c, theta, strict=True)), arb(0)) / tau**2
        mass = (sum((a / -b for a, b in zip(in_theta, c, strict=True)), arb(0)) - 1).contains(0)
        return moved and same and mass and bool(abs(quotient - in_w[0]) <= 4 * h * scale + arb(2) ** -30)

    check.over(range(check.cases), only_in_the_logits)
