"""Check the certificate of a path of OMP, OLS, Sequential LASSO or the LASSO, in plain Python.

    python path_checker.py certificate.json data.json

The file needs the standard library only, and shares no code with the package. The data are a JSON object
with "X", a list of rows, and "y"; or a CSV file of numbers whose last column is y. A number is a decimal or a
hexadecimal text ("0x1.8p+1"), and is read as a float. All arithmetic is in integers and fractions. The answer
is PROVED, with what is proved, or REFUTED, with the reason. docs/certificate_format.md describes the format.

Let S be the features before a pick, β least squares on S, r = y − Xβ and c = Xᵀr. The picks are in

- OMP: T, where |c_j|/w_j has its maximum λ*. The weight w_j is 1, or the length of X_j if "normalized".
- Sequential LASSO: the set A ⊆ T of the features that are nonzero in some solution of the LASSO just
  below λ*. With u ≥ 0 on T let Zu = X_T(signs∘u) + X_S rate be orthogonal to X_S. If ⟨z_i, Zu⟩ ≥ |c_i| on T,
  with equality where u_i > 0, then the coefficients signs∘(tu) on T, with coef + t·rate on S, satisfy the KKT
  conditions on T for small t. All solutions have the same Xβ. So i is zero in all of them if ⟨z_i, Zu⟩ >
  |c_i|, or if a vector w is orthogonal to X_S and to the active columns, with ⟨z_j, w⟩ ≥ 0 where ⟨z_j, Zu⟩ =
  |c_j|, and > 0 at i.
- nonnegative OMP: the largest c_j/w_j outside S, where β minimises ‖y − Xβ‖ on S with β ≥ 0 off the
  forced ones.
- OLS: the largest c_j²/ℓ_j² outside the span of X_S, where ℓ_j is the distance of X_j from this span.

For the LASSO the KKT conditions are checked at both ends of each segment between two knots. β and c are
linear on it, so the conditions hold between the ends. The columns that may be nonzero together are linearly
independent, so the solution is unique. Without λ and β in the certificate, they are computed first.
"""

import csv
import hashlib
import json
import math
import struct
import sys
from fractions import Fraction
from operator import mul

FORMATS = ("sparselin certificate 1", "sparselin lasso certificate 1")
PRIME = 2**61 - 1


class NotProved(Exception):
    """The error that says why a certificate is not accepted."""


def require(condition, reason):
    if not condition:
        raise NotProved(reason)


def fraction(text):
    numerator, denominator = text.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))


def are_features(J, d):
    return type(J) is list and all(type(j) is int and 0 <= j < d for j in J) and len({*J}) == len(J)


def integers(values):
    """Return rational numbers as integers, and the unit by which each integer is multiplied."""
    values = [*map(Fraction, values)]
    common = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (common // v.denominator) for v in values], Fraction(1, common)


def solve(A, b):
    """Solve Ax = b for an invertible matrix of fractions; None if it is singular."""
    rows = [[*map(Fraction, row), Fraction(v)] for row, v in zip(A, b, strict=True)]
    for p in range(len(rows)):
        pivot = next((i for i in range(p, len(rows)) if rows[i][p]), None)
        if pivot is None:
            return None
        rows[p], rows[pivot] = rows[pivot], rows[p]
        for i in range(p + 1, len(rows)):
            if rows[i][p]:
                share = rows[i][p] / rows[p][p]
                rows[i] = [v - share * w for v, w in zip(rows[i], rows[p], strict=True)]
    x = []
    for row in reversed(rows):
        known = len(x)
        p = len(rows) - known - 1
        x.insert(0, (row[-1] - sum(map(mul, row[p + 1 : -1], x))) / row[p])
    return x


class PathData:
    """X and y: each column is a list of integers and one unit, by which they are multiplied."""

    def __init__(self, X, y):
        pairs = [integers(column) for column in [*zip(*X, strict=True), y]]
        self.columns = [column for column, _ in pairs]
        self.units = [unit for _, unit in pairs]
        self.d = len(pairs) - 1

    def combine(self, terms):
        """Return Σ v·X_j over pairs (j, v), where feature d is y: integers and their unit."""
        shares, unit = integers([v * self.units[j] for j, v in terms])
        total = [0] * len(self.columns[-1])
        for share, (j, _) in zip(shares, terms, strict=True):
            if share:
                total = [a + share * b for a, b in zip(total, self.columns[j], strict=True)]
        return total, unit

    def correlate(self, vector):
        """Return the inner products of all columns of X with a vector of integers and a unit."""
        entries, unit = vector
        return [sum(map(mul, entries, self.columns[j])) * unit * self.units[j] for j in range(self.d)]

    def correlations(self, beta):
        """Return c = Xᵀ(y − Xβ) for pairs (j, β_j)."""
        return self.correlate(self.combine([(self.d, Fraction(1)), *((j, -v) for j, v in beta)]))

    def product(self, i, j):
        return sum(map(mul, self.columns[i], self.columns[j])) * self.units[i] * self.units[j]

    def are_independent(self, J):
        """Return whether the columns J are independent modulo a prime, which proves that they are."""
        rows = [[v % PRIME for v in self.columns[j]] for j in J]
        while rows:
            row = rows.pop()
            p = next((p for p, v in enumerate(row) if v), None)
            if p is None:
                return False
            inverse = pow(row[p], -1, PRIME)
            for i, other in enumerate(rows):
                if other[p]:
                    share = other[p] * inverse % PRIME
                    rows[i] = [(v - share * w) % PRIME for v, w in zip(other, row, strict=True)]
        return True


def check_correlation_step(data, step, S, weights, stated):
    """Check a pick of OMP or Sequential LASSO, and all that its step states; return T and A."""
    T, A, signs = step["tied"], step["active"], step["signs"]
    coef, rate, u = ([*map(fraction, step[name])] for name in ("coef", "rate", "direction"))
    require(are_features(T, data.d) and are_features(A, data.d) and sorted(T) == T, "`tied` or `active`")
    require(len(signs) == len(u) == len(T) and {*signs} <= {1, -1}, "`signs` or `direction`")
    require(len(coef) == len(rate) == len(S), "`coef` or `rate`")
    require([i for i, v in zip(T, u, strict=True) if v > 0] == A and min(u) >= 0, "`active` is not that of u")
    c = data.correlations([*zip(S, coef, strict=True)])
    Zu = [(i, s * v) for i, s, v in zip(T, signs, u, strict=True)]
    b = data.correlate(data.combine([*Zu, *zip(S, rate, strict=True)]))
    require(not any(c[j] or b[j] for j in S), "r or Zu is not orthogonal to the selected columns")
    square, tau = fraction(step["lam_star_squared"]), fraction(step["tau"])
    sign = dict(zip(T, signs, strict=True))
    for j in range(data.d):
        equal = c[j] ** 2 == square * weights[j]
        require(
            not stated[j] or (equal if j in sign else c[j] ** 2 < square * weights[j]), f"T is wrong at {j}"
        )
    require(all(s * c[i] > 0 for i, s in sign.items()), "a sign is wrong")
    slack = {i: s * (b[i] - c[i]) for i, s in sign.items()}
    barred = {i for i, _ in step["farkas"]}
    for i, v in slack.items():
        exact = v == 0 if i in A else v > 0 or (v == 0 and i in barred)
        require(exact, f"the direction is wrong at {i}")
    for i, w in step["farkas"]:
        require(i in sign and len(w) == len(data.columns[-1]), "a Farkas vector")
        h = data.correlate(integers(map(fraction, w)))
        # A feature that is barred but not tight is zero in every solution anyway.
        tight = all(s * h[j] >= 0 for j, s in sign.items() if slack[j] == 0)
        require(not any(h[j] for j in [*S, *A]) and tight and sign[i] * h[i] > 0, f"the vector of {i}")
    require(0 < tau <= 1, "τ is not in (0, 1]")
    for j in range(data.d):
        if j in sign:
            require(tau * sign[j] * (b[j] + c[j]) <= 2 * sign[j] * c[j], f"τ is too large at {j}")
        elif j not in S and stated[j]:
            most = (1 - tau) ** 2 * square * weights[j]
            require((c[j] - tau * b[j]) ** 2 <= most, f"τ is too large at {j}")
    return T, A


def check_nonnegative_step(data, step, S, n_forced, weights, stated):
    """Check a pick of nonnegative OMP; return T."""
    coef, T = [*map(fraction, step["coef"])], step["tied"]
    require(len(coef) == len(S) and are_features(T, data.d) and sorted(T) == T, "`coef` or `tied`")
    c = data.correlations([*zip(S, coef, strict=True)])
    for p, (j, v) in enumerate(zip(S, coef, strict=True)):
        signed = c[j] == 0 if p < n_forced or v else c[j] <= 0
        require(signed and (p < n_forced or v >= 0), f"not nonnegative least squares at {j}")
    square = fraction(step["lam_star_squared"])
    for j in {*range(data.d)} - {*S}:
        equal = c[j] > 0 and c[j] ** 2 == square * weights[j]
        less = c[j] <= 0 < square or c[j] ** 2 < square * weights[j]
        require(not stated[j] or (equal if j in T else less), f"T is wrong at {j}")
    require(not {*T} & {*S}, "a tied feature is selected")
    return T


def check_ols_step(data, step, S):
    """Check a pick of OLS; return T."""
    T, spanned, q = step["tied"], step["spanned"], fraction(step["decrease"])
    basis, squares = step["basis"], [*map(fraction, step["squares"])]
    require(are_features(T + spanned + S, data.d), "a feature is in two sets")
    require([T, spanned] == [sorted(T), sorted(spanned)], "sets must increase")
    require(len(basis) == len(squares) == len(step["coef"]) == len(S) and q > 0, "lengths of `basis`, or q")
    c = data.correlations([*zip(S, map(fraction, step["coef"]), strict=True)])
    require(not any(c[j] for j in S), "r is not orthogonal to the selected columns")
    left = [data.product(j, j) for j in range(data.d)]
    for t, (a, square) in enumerate(zip(basis, squares, strict=True)):
        terms = [*((i, -fraction(v)) for i, v in zip(S[:t], a, strict=True)), (S[t], Fraction(1))]
        b = data.correlate(data.combine(terms))
        require(not any(b[i] for i in S[:t]) and b[S[t]] == square > 0, "`basis` is not orthogonal")
        left = [v - w * w / square for v, w in zip(left, b, strict=True)]
    for j in {*range(data.d)} - {*S}:
        require((left[j] == 0) == (j in spanned), f"`spanned` is wrong at {j}")
        equal = c[j] ** 2 == q * left[j]
        require(j in spanned or (equal if j in T else c[j] ** 2 < q * left[j]), f"T is wrong at {j}")
    return T


def check_picks(data, given):
    """Check a certificate of a selection path; return what it proves."""
    claim, S, d = given["claim"], [*given["forced"]], data.d
    lengths = [data.product(j, j) for j in range(d)]
    weights = lengths if given["normalized"] else [1] * d
    stated = [bool(v) or not given["normalized"] for v in lengths]
    picks = []
    require(claim in ("omp", "sequential_lasso", "nonnegative_omp", "ols"), "`claim`")
    for step in given["steps"]:
        pick = step["pick"]
        require(type(pick) is int and step["selected"] == S, "`selected` must be the features before")
        if claim in ("omp", "sequential_lasso"):
            allowed = check_correlation_step(data, step, S, weights, stated)[claim != "omp"]
        elif claim == "nonnegative_omp":
            allowed = check_nonnegative_step(data, step, S, len(given["forced"]), weights, stated)
        else:
            allowed = check_ols_step(data, step, S)
        require(pick in allowed, f"the method may not pick {pick} when {S} are selected")
        S.append(pick)
        picks.append(pick)
    return f"{claim} may pick {picks} after the forced features {given['forced']}"


def complete(data, given):
    """Return λ and β at each knot of a LASSO path whose certificate states the active sets only."""
    found, above = [], {}
    for k, knot in enumerate(given["knots"]):
        A = dict(zip(knot["active"], knot["signs"], strict=True))
        larger = A if len(A) > len(above) else above
        J = [*given["forced"], *larger]
        G = [[data.product(i, j) for j in J] for i in J]
        level = solve(G, [data.product(j, data.d) for j in J])
        slope = solve(G, [-larger.get(j, 0) for j in J])
        require(level is not None, f"the columns {J} are dependent")
        if k == len(given["knots"]) - 1:
            lam = fraction(knot["lam"])
        else:
            (changed,) = {*A} ^ {*above}
            lam = -level[J.index(changed)] / slope[J.index(changed)]
        beta = {j: a + lam * b for j, a, b in zip(J, level, slope, strict=True)}
        found.append((lam, [beta[j] for j in [*given["forced"], *sorted({*A} & {*above})]]))
        above = A
    return found


def check_lasso(data, given):
    """Check a certificate of a LASSO path; return what it proves."""
    S, knots, positive = given["forced"], given["knots"], given["positive"]
    off = [j for j in range(data.d) if j not in S]
    require(type(positive) is bool, "`positive`")
    for k, knot in enumerate(knots):
        A, signs = knot["active"], knot["signs"]
        require(are_features(A, data.d) and sorted({*A} - {*S}) == A, "`active`")
        require(len(signs) == len(A) and {*signs} <= ({1} if positive else {1, -1}), "`signs`")
        before = [knots[k - 1][name] for name in ("active", "signs")] if k else [[], []]
        require(k < len(knots) - 1 or [A, signs] == before, "the active set of the last knot")
        require(k == len(knots) - 1 or before[0] != A, f"knots[{k}]: no feature enters or leaves")
    if len(knots) > 1 and knots[0]["lam"] is None:
        numbers = complete(data, given)
    else:
        numbers = [(fraction(knot["lam"]), [*map(fraction, knot["coef"])]) for knot in knots]
    ends, last = [], None
    for k, (lam, coef) in enumerate(numbers):
        A = {*knots[k - 1]["active"]} & {*knots[k]["active"]} if k else ()
        beta = dict(zip([*S, *sorted(A)], coef, strict=True))
        c = data.correlations([*beta.items()])
        size = c if positive else [*map(abs, c)]
        require(lam >= 0 and (last is None or lam < last), f"knots[{k}]: λ does not decrease")
        require(not any(c[j] for j in S), f"knots[{k}]: c is not zero on the forced features")
        require(all(size[j] <= lam for j in off), f"knots[{k}]: a correlation exceeds λ")
        ends.append((lam, beta, c, size))
        last = lam
    largest = max([Fraction(0), *(ends[0][3][j] for j in off)])
    require(ends[0][0] == largest, "knots[0]: λ is not the largest correlation")
    proved = [{*S}]
    require(data.are_independent(S), "the forced columns are not proved to be independent")
    for k in range(len(knots) - 1):
        for j, sign in zip(knots[k]["active"], knots[k]["signs"], strict=True):
            values = [sign * beta.get(j, 0) for _, beta, _, _ in ends[k : k + 2]]
            right = all(c[j] == sign * lam for lam, _, c, _ in ends[k : k + 2])
            require(right and min(values) >= 0 < max(values), f"below knots[{k}]: KKT fails at {j}")
        (lam, _, c, size), (lower, _, c_lower, size_lower) = ends[k : k + 2]
        tied = {j for j in off if (size[j], size_lower[j]) == (lam, lower) and c[j] * c_lower[j] >= 0}
        if not any({*S} | tied <= known for known in proved):
            independent = data.are_independent([*S, *sorted(tied)])
            require(independent, f"below knots[{k}]: columns are not proved to be independent")
            proved.append({*S} | tied)
    events = [knot["active"] for knot in knots[:-1]]
    problem = "LASSO with coefficients ≥ 0" if positive else "LASSO"
    return f"the {problem} without penalty on {S} has for λ ≥ {float(last):.17g} the active sets {events}"


def check(text, X, y):
    """Return True and what a certificate proves for X and y, or False and the reason for the refusal."""
    try:
        given = json.loads(text)
        require(given["format"] in FORMATS, "another format")
        n, d = len(X), len(X[0])
        ones = given["shape"] == [n, d + 1] and given["forced"][:1] == [d]
        X = [[*map(float, row), *([1.0] if ones else [])] for row in X]
        y = [*map(float, y)]
        require(given["shape"] == [n, len(X[0])], "X of another shape")
        require(are_features(given["forced"], len(X[0])), "`forced`")
        normalized = given.get("normalized", False)
        require(type(normalized) is bool, "`normalized`")
        head = f"{FORMATS[0]}: {n} {len(X[0])} {normalized:d}\n".encode()
        entries = [v + 0.0 for row in X for v in row] + [v + 0.0 for v in y]
        digest = hashlib.sha256(head + struct.pack(f"<{len(entries)}d", *entries)).hexdigest()
        require(digest == given["sha256"], "bound to other data")
        return True, (check_lasso if given["format"] == FORMATS[1] else check_picks)(PathData(X, y), given)
    except NotProved as reason:
        return False, str(reason)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        return False, f"malformed: {error!r}"


def number(value):
    hexadecimal = isinstance(value, str) and "x" in value.lower()
    return float.fromhex(value) if hexadecimal else float(value)


def read(name):
    """Return X and y from a JSON or CSV file."""
    with open(name, encoding="utf-8", newline="") as file:
        if name.lower().endswith(".json"):
            data = json.load(file)
            return [[*map(number, row)] for row in data["X"]], [*map(number, data["y"])]
        rows = [[*map(number, row)] for row in csv.reader(file) if row]
        return [row[:-1] for row in rows], [row[-1] for row in rows]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        proved, words = check(file.read(), *read(sys.argv[2]))
    sys.stdout.write(f"PROVED: {words}\n" if proved else f"REFUTED: {words}\n")
    sys.exit(not proved)


if __name__ == "__main__":
    main()
