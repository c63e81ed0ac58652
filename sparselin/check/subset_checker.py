"""Check the certificate of a best subset in plain Python, without the package.

    python subset_checker.py certificate.json data.npz

The data are an .npz file with X, y and perhaps sample_weight. The answer is PROVED or REFUTED, with the
reason. All arithmetic is in integers and fractions. Numpy only reads the data, and computes an approximate
Cholesky factor, which is then checked exactly.

PROVED is a statement about coefficients β and units. A unit is a feature or a group of features. Consider
every β with lower ≤ β ≤ upper and with at most k nonzero units, where the forced units always count as
nonzero, and for each pair (u, p) of the hierarchy p counts as nonzero if u does. Its value is q(β) = ½ Σ
w_i(y_i − b₀ − X_iβ)² + (ridge/2)‖β‖². Let U be the value of the certificate's own subset. PROVED means that
q(β) ≥ (1 − gap)·U for all these β. In what follows, column j of X is divided by 2^scale_j.

The proof is a tree of cases. A case says that some units are in the support and that some others are not. The
pairs (u, p) decide further units: p is in the support if u is, u is not if p is not, and u is not if it does
not fit into k units together with the units that it needs. A case without a support needs no bound. In other
cases a vector w gives a lower bound on q, as follows. Write q(β) = Q − bᵀβ + ½βᵀGβ, and let D be a diagonal
matrix for which G − D is positive semidefinite. Then (β − w)ᵀ(G − D)(β − w) ≥ 0. With c = b − (G − D)w, this
is q(β) ≥ Q − ½wᵀ(G − D)w − Σ (c_jβ_j − ½D_jβ_j²). Each term of the sum is 0 if β_j = 0. Otherwise the term is
at most its maximum H_j ≥ 0 over lower_j ≤ β_j ≤ upper_j. We call H_j the height of feature j.

A vector w can also narrow the box lower ≤ β ≤ upper. Let L be the bound of w for the case in which the unit
of feature j is in the support, and let h_j = c_j²/(2D_j). Then every β with β_j ≠ 0 and q(β) ≤ U has ½D_j(β_j
− c_j/D_j)² ≤ U − L − H_j + h_j, because c_jβ_j − ½D_jβ_j² = h_j − ½D_j(β_j − c_j/D_j)². The heights may then
be taken over the smaller box.
"""

import json
import math
import sys
from fractions import Fraction
from operator import lshift, mul, sub

import numpy as np

FEW = 40  # up to this number of features G − D is eliminated in fractions


class Refuted(Exception):
    """The error that says why a certificate is not accepted."""


def require(condition, reason):
    if not condition:
        raise Refuted(reason)


def are_distinct(J, count):
    return type(J) is list and all(type(j) is int and 0 <= j < count for j in J) and len({*J}) == len(J)


def are_numbers(values, count):
    return len(values) == count and all(type(v) is float and 0 <= v < math.inf for v in values)


def are_integers(values, most):
    return all(type(v) is int and abs(v) <= most for v in values)


def as_integers(values):
    """Return rational numbers as integers, and the common unit by which each integer is multiplied."""
    values = [*map(Fraction, values)]
    common = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (common // v.denominator) for v in values], Fraction(1, common)


def root_above(x):
    """Return a rational number with few digits that is slightly larger than √x."""
    places = max(0, 64 + (x.denominator.bit_length() - x.numerator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << 2 * places) // x.denominator) + 1, 1 << places)


def eliminate(A, b):
    """Solve Ax = b for a symmetric matrix A, or return None.

    None means that A is not positive semidefinite, or that there is no solution.
    """
    rows, m = [[*map(Fraction, row), Fraction(v)] for row, v in zip(A, b, strict=True)], len(A)
    for p in range(m):
        if rows[p][p] < 0 or (rows[p][p] == 0 and any(rows[p][p:])):
            return None
        for i in range(p + 1, m):
            if rows[i][p]:
                share = rows[i][p] / rows[p][p]
                rows[i] = [v - share * w for v, w in zip(rows[i], rows[p], strict=True)]
    x = [Fraction(0)] * m
    for p in reversed(range(m)):
        if rows[p][p]:
            x[p] = (rows[p][m] - sum(map(mul, rows[p][:m], x))) / rows[p][p]
    return x


def exact_gram(vectors):
    """Return the matrix of the inner products of some lists of integers.

    For each position i, the entries i of all lists are packed into one long integer, with a field of bits for
    each list. Multiplying this integer by a number multiplies all these entries at once.
    """
    most = max(max(map(abs, v)) for v in vectors)
    size = (2 * most.bit_length() + len(vectors[0]).bit_length() + 9) // 8
    half = 1 << 8 * size - 1
    places = range(0, 8 * size * len(vectors), 8 * size)
    bias, mask = sum(half << place for place in places), 2 * half - 1
    packed = [sum(map(lshift, entries, places)) for entries in zip(*vectors, strict=True)]
    sums = [sum(map(mul, vector, packed)) + bias for vector in vectors]
    return [[(fields >> place & mask) - half for place in places] for fields in sums]


class PlainObjective:
    """The objective q(β) = ½ Σ w_i(y_i − b₀ − X_iβ)² + (ridge/2)‖β‖², in exact arithmetic.

    Each column is stored as a list of integers and one rational number, its unit, by which all integers of
    this column are multiplied. The last column is y. If there is an intercept, the columns are centred
    exactly.
    """

    def __init__(self, X, y, weights, intercept, ridge, scale):
        self.weights, self.weight_unit = as_integers(weights)
        self.columns, self.units = [], []
        for column, power in zip([*zip(*X, strict=True), y], [*scale, 0], strict=True):
            integers, unit = as_integers(column)
            if intercept:
                mass, mean = sum(self.weights), sum(map(mul, self.weights, integers))
                integers, unit = [mass * v - mean for v in integers], unit / mass
            self.columns.append(integers)
            self.units.append(unit / Fraction(2) ** power)
        self.d, self.ridge, self.grams = len(scale), [Fraction(ridge) / Fraction(4) ** s for s in scale], {}

    def gram(self, i, j):
        """Return an entry of the matrix of the objective q(β) = Q − bᵀβ + ½βᵀGβ: the entry G_ij.

        The index d stands for y: G_id is b_i, and G_dd is yᵀWy with the diagonal matrix W of the weights.
        """
        i, j = max(i, j), min(i, j)
        if (i, j) not in self.grams:
            total = sum(map(mul, map(mul, self.weights, self.columns[i]), self.columns[j]))
            value = total * self.weight_unit * self.units[i] * self.units[j]
            self.grams[i, j] = value + self.ridge[i] if i == j < self.d else value
        return self.grams[i, j]

    def slopes(self, w):
        """Return the negative gradient b − Gw of the objective q(β) = Q − bᵀβ + ½βᵀGβ at a vector w.

        The vector is given as a dictionary of its nonzero entries.
        """
        shares, unit = as_integers([self.units[self.d], *(-v * self.units[j] for j, v in w.items())])
        r = [0] * len(self.weights)
        for share, j in zip(shares, [self.d, *w], strict=True):
            r = [v + share * x for v, x in zip(r, self.columns[j], strict=True)]
        r, unit = [*map(mul, r, self.weights)], unit * self.weight_unit
        c = [sum(map(mul, r, self.columns[j])) * (unit * self.units[j]) for j in range(self.d)]
        return [v - self.ridge[j] * w.get(j, 0) for j, v in enumerate(c)]

    def fit(self, support, fixed):
        """Return the minimiser of the objective on a support, where some of the coefficients are fixed.

        The second result is the minimum, and the third the partial derivatives for the fixed coefficients.
        """
        free, y = [j for j in support if j not in fixed], self.d
        right = [self.gram(y, i) - sum(self.gram(i, j) * v for j, v in fixed.items()) for i in free]
        x = eliminate([[self.gram(i, j) for j in free] for i in free], right)
        beta = fixed | dict(zip(free, x, strict=True))
        gradient = {i: sum(self.gram(i, j) * v for j, v in beta.items()) - self.gram(y, i) for i in beta}
        twice = self.gram(y, y) + sum((gradient[j] - self.gram(y, j)) * v for j, v in beta.items())
        return beta, twice / 2, {j: gradient[j] for j in fixed}

    def is_convex(self, D):
        """Return whether G − D is proved to be positive semidefinite, where G is the matrix of the objective.

        D is a diagonal matrix, given as a dictionary of its entries. The claim is about the features of D
        only.
        """
        if all(v <= self.ridge[j] for j, v in D.items()):
            return True
        if len(D) > FEW:
            return self.is_convex_rounded([j for j in D if any(self.columns[j]) or D[j] > self.ridge[j]], D)
        return eliminate([[self.gram(i, j) - (D[i] if i == j else 0) for j in D] for i in D], [0] * len(D))

    def is_convex_rounded(self, J, D):
        """Return whether G − D is proved to be positive semidefinite, by a rounded Cholesky factor L.

        G is the matrix of the objective, D a diagonal matrix, and W the diagonal matrix of the weights. A has
        the columns of √W·X for the features J, rounded to integers: they differ by at most 1 in the unit of
        the column. Therefore, for all v, ‖√W·Xv‖² ≥ (1 − δ)‖Av‖² − (1/δ − 1)·n·d·‖v‖². So the following
        suffices: AᵀA minus a certain diagonal matrix, which is larger than D, is the sum of LLᵀ and of a
        diagonally dominant matrix.
        """
        columns, diagonal, m, delta = [], [], len(J), Fraction(1, 2**20)
        for j in J:
            squares = [w * v * v for w, v in zip(self.weights, self.columns[j], strict=True)]
            shift = (sum(squares).bit_length() - 72) // 2  # the unit is 2^shift, lengths are near 2³⁶
            roots = (math.isqrt(v << max(-2 * shift, 0) >> max(2 * shift, 0)) for v in squares)
            columns.append([root if v > 0 else -root for v, root in zip(self.columns[j], roots, strict=True)])
            excess = (D[j] - self.ridge[j]) / (self.weight_unit * self.units[j] ** 2 * Fraction(4) ** shift)
            diagonal.append(math.ceil((excess + (1 / delta - 1) * len(squares) * m) / (1 - delta)))
        S = exact_gram(columns)
        for i, v in enumerate(diagonal):
            S[i][i] -= v
        floats = np.array([[v / 2.0**72 for v in row] for row in S]) - m * 2.0**-36 * np.eye(m)
        try:
            L = np.linalg.cholesky(floats)
        except np.linalg.LinAlgError:
            return False
        product = exact_gram([[round(v * 2**36) for v in row] for row in L.tolist()])
        rest = [list(map(sub, *rows)) for rows in zip(S, product, strict=True)]
        return all(2 * row[i] >= sum(map(abs, row)) for i, row in enumerate(rest))


class Proof:
    """A certificate with its data: the vectors that give bounds, and the tree of cases."""

    def __init__(self, given, X, y, weights):
        d, scale, groups = len(X[0]), given["scale"], given["groups"]
        require(given["format"] == "sparselin subset certificate 1", "another format")
        require(given["shape"] == [len(X), d], "X of another shape")
        require(are_numbers([given["ridge"], given["gap"]], 2) and given["gap"] <= 1, "ridge or gap")
        require(type(given["intercept"]) is bool, "intercept must be true or false")
        require(len(scale) == d and are_integers(scale, 4000), "scale")
        labels = [*range(d)] if groups is None else groups
        require(len(labels) == d and are_integers(labels, d) and min(labels) >= 0, "groups")
        self.given, self.k, self.d, self.labels, self.count = given, given["k"], d, labels, max(labels) + 1
        self.members = [[j for j in range(d) if labels[j] == unit] for unit in range(self.count)]
        require(all(are_distinct(given[name], self.count) for name in ("forced", "support")), "units")
        require({*given["forced"]} <= {*given["support"]}, "a forced unit is not in the support")
        self.needs = [{unit} for unit in range(self.count)]
        for pair in given["hierarchy"]:
            require(are_distinct(pair, self.count) and len(pair) == 2, "a pair of the hierarchy")
            self.needs[pair[0]].add(pair[1])
        whole = all(self.needs[unit] <= {*given["support"]} for unit in given["support"])
        require(whole, "the support does not obey the hierarchy")
        require(type(self.k) is int and len(given["support"]) <= self.k <= self.count, "k")
        self.box = []
        for side, sign in (("lower", -1), ("upper", 1)):
            finite = [sign * v for v in given[side] if v is not None]
            require(len(given[side]) == d and are_numbers(finite, len(finite)), side)
            pairs = zip(given[side], scale, strict=True)
            self.box.append([None if v is None else Fraction(v) * Fraction(2) ** s for v, s in pairs])
        self.inner = self.box
        self.q = PlainObjective(X, y, weights, given["intercept"], given["ridge"], scale)
        self.stages, self.vectors = [], {}
        for J, D in given["stages"]:
            require(are_distinct(J, d) and are_numbers(D, len(J)), "a stage")
            self.stages.append(dict(zip(J, map(Fraction, D), strict=True)))
            convex = self.q.is_convex(self.stages[-1])
            require(convex not in (None, False), "G − D is not proved to be positive semidefinite")

    def heights(self, v):
        """Return the parts of the bound that vector v of the certificate gives for a case.

        These are the bound for the empty support, the height of each unit, the units sorted by height, and
        the diagonal matrix D and the vector c of the bound. The height of a feature is the most that a
        nonzero coefficient can lower the bound. The height of a unit is the sum of the heights of its
        features.
        """
        require(type(v) is int and 0 <= v < len(self.given["vectors"]), "there is no such vector")
        if v not in self.vectors:
            s, J, entries, power = self.given["vectors"][v]
            require(type(s) is int and 0 <= s < len(self.stages), "there is no such stage")
            D = self.stages[s]
            require(are_distinct(J, self.d) and {*J} <= {*D}, "the features of a vector")
            require(are_integers([*entries, power], 2**63) and abs(power) <= 4000, "entries of a vector")
            w = {j: x * Fraction(2) ** power for j, x in zip(J, entries, strict=True)}
            c = [v + D[j] * w[j] if j in w else v for j, v in enumerate(self.q.slopes(w))]
            form = sum(x * (self.q.gram(self.d, j) - c[j]) for j, x in w.items())
            heights = [Fraction(0)] * self.count
            for j in D:
                heights[self.labels[j]] += self.height(c[j], D[j], self.inner[c[j] > 0][j])
            order = sorted(range(self.count), key=heights.__getitem__, reverse=True)
            self.vectors[v] = (self.q.gram(self.d, self.d) - form) / 2, heights, order, D, c
        return self.vectors[v]

    def narrow(self, v, U):
        """Narrow the box of the coefficients by the bound that vector v of the certificate gives.

        A coefficient β_j outside the new box is possible only if the objective exceeds U. The new box
        contains 0, so that it is valid for β_j = 0 as well.
        """
        _, heights, _, D, c = self.heights(v)
        require(len(D) == self.d and max(heights) < math.inf, "the vector of the box")
        sides, forced = [[*side] for side in self.box], {*self.given["forced"]}
        for j in D:
            if D[j] > 0 and (self.labels[j] in forced or len(forced) < self.k):
                least = self.bound(v, forced | {self.labels[j]}, set())
                rest = U - least - self.height(c[j], D[j], self.box[c[j] > 0][j]) + c[j] ** 2 / (2 * D[j])
                reach, centre = root_above(max(2 * rest / D[j], Fraction(0))), c[j] / D[j]
                for side, end, inner in zip(sides, (centre - reach, centre + reach), (max, min), strict=True):
                    side[j] = end if side[j] is None else inner(side[j], end)
                    side[j] = (min, max)[inner is min](side[j], Fraction(0))
        self.inner, self.vectors = sides, {}

    @staticmethod
    def height(c, D, end):
        if end is not None and abs(c) > D * abs(end):
            return c * end - D * end**2 / 2
        return c and (c**2 / (2 * D) if D > 0 else math.inf)

    def bound(self, v, inside, outside):
        """Return the bound of vector v for the case in which `inside` are in the support and `outside` are
        not.

        Both are sets of units; a unit is a feature or a group of features.
        """
        base, heights, order, D, _ = self.heights(v)
        room = self.k - len(inside)
        if room < 0:
            return math.inf
        for unit in range(self.count):
            require(unit in outside or all(j in D for j in self.members[unit]), "a stage lacks a feature")
        largest = [unit for unit in order if unit not in inside and unit not in outside][:room]
        return base - sum(heights[unit] for unit in [*inside, *largest])

    def decide(self, inside, outside):
        """Return a case with the units that the hierarchy decides, or None if the case has no support."""
        if not self.given["hierarchy"]:
            return inside, outside
        inside = inside.union(*(self.needs[unit] for unit in inside))
        room, free = self.k - len(inside), {*range(self.count)} - inside - outside
        if room < 0 or inside & outside:
            return None
        lost = {u for u in free if self.needs[u] & outside or len(self.needs[u] - inside) > room}
        return inside, outside | lost

    def values_at_bounds(self, at_lower, at_upper, features):
        require(are_distinct(at_lower, self.d) and are_distinct(at_upper, self.d), "features at bounds")
        fixed = {j: side[j] for J, side in zip((at_lower, at_upper), self.box, strict=True) for j in J}
        require(len(fixed) == len(at_lower) + len(at_upper) and {*fixed} <= {*features}, "features at bounds")
        require(None not in fixed.values(), "a feature is at a bound that it does not have")
        return fixed

    def value(self, at_lower, at_upper, inside, outside):
        """Return a bound on the objective for a case that leaves only one possible support."""
        full = len(inside) == self.k
        units = [unit for unit in range(self.count) if unit in inside or not (full or unit in outside)]
        require(len(units) <= self.k, "a value for more than k units")
        support = [j for unit in units for j in self.members[unit]]
        beta, value, slopes = self.q.fit(support, self.values_at_bounds(at_lower, at_upper, support))
        for j, slope in slopes.items():
            end = self.box[slope < 0][j]
            require(slope == 0 or end is not None, "a value on a support is not bounded")
            value += slope and slope * (end - beta[j])
        return value

    def check(self):
        """Return the value U of the certificate's own subset if the certificate is proved.

        Raises Refuted if a case has no bound, or a bound below (1 − gap)·U.
        """
        given = self.given
        support = [j for unit in given["support"] for j in self.members[unit]]
        beta, U, _ = self.q.fit(support, self.values_at_bounds(given["at_lower"], given["at_upper"], support))
        for j, v in beta.items():
            low, high = self.box[0][j], self.box[1][j]
            require((low is None or low <= v) and (high is None or v <= high), "a coefficient out of its box")
        if given["box"] is not None:
            self.narrow(given["box"], U)
        target, operations = (1 - Fraction(given["gap"])) * U, iter(given["tree"])
        cases = [({*given["forced"]}, set())]
        while cases:
            case = self.decide(*cases.pop())
            if case is None:
                continue
            inside, outside = case
            name, *rest = next(operations, ["nothing"])
            if name in ("split", "out", "in"):
                units = rest if name == "split" else rest[1]
                free = are_distinct(units, self.count) and not {*units} & (inside | outside)
                require(free, "a unit is not free")
                require(name == "out" or len(inside) + len(units) <= self.k, "more than k units are in")
            if name == "split":
                (unit,), bounds = units, []
                cases += [(inside, outside | {unit}), (inside | {unit}, outside)]
            elif name == "out":
                bounds = (self.bound(rest[0], inside | {unit}, outside) for unit in units)
                cases.append((inside, outside | {*units}))
            elif name == "in":
                bounds = (self.bound(rest[0], inside, outside | {unit}) for unit in units)
                cases.append((inside | {*units}, outside))
            elif name == "bound":
                bounds = [self.bound(*rest, inside, outside)]
            else:
                require(name == "value", "a case has no bound")
                bounds = [self.value(*rest, inside, outside)]
            require(all(bound >= target for bound in bounds), f"{name} {rest}: a bound is below (1 − gap)·U")
        require(next(operations, None) is None, "operations are left")
        return U


def check(text, X, y, weights=None):
    """Return True and the value of the certificate's subset, or False and the reason for the refusal."""
    try:
        return True, Proof(json.loads(text), X, y, [1.0] * len(y) if weights is None else weights).check()
    except Refuted as reason:
        return False, str(reason)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        return False, f"malformed: {error!r}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    with np.load(sys.argv[2]) as data:
        names = ("X", "y", "sample_weight")
        X, y, weights = (data[name].astype(float).tolist() if name in data else None for name in names)
    proved, answer = check(text, X, y, weights)
    print(f"PROVED, the value is {float(answer)!r}" if proved else f"REFUTED: {answer}")  # noqa: T201
    return 0 if proved else 1


if __name__ == "__main__":
    sys.exit(main())
