"""Algorithm 5, LassoNet for matrix completion: what its lines 3 to 8 impute.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), section 7. In print, Z being
known on Ω: X is Z on Ω and the mean of its row elsewhere (line 3); until X has converged,

    X_proj = P_Ω(Z) + P_Ω^⊥(X)                                                            (line 5)
    train f = f_{θ,W} on the reconstruction loss between X_proj and Z                     (line 6)
    X ← f(X_proj)                                                                         (line 7)

As printed the loss of line 6 has no f in it, and Z is not known off Ω. Read as ‖f(X_proj) − X_proj‖_F² or, on
Ω alone, ‖P_Ω(f(X_proj) − Z)‖_F². The class F has the identity: θ = 1, the skip layer, and W = 0. So the least
loss is 0. In the first reading every optimal f has f(X_proj) = X_proj: then X ← X_proj, and the loop has
converged at once. In the second the identity is optimal, and leaves X as it is. Exact.
"""

from fractions import Fraction

from flint import fmpq, fmpq_mat
from hypothesis import assume
from hypothesis import strategies as st

from proofs_checks.exact_prox import SMALL, network
from proofs_checks.rational import fraction, least_squares
from sparselin.ledger import HOLDS, claim, mutants


def row_means(Z, known):
    """Return the result of line 3, or raise ZeroDivisionError for a row without known entries."""
    filled = []
    for row, seen in zip(Z, known, strict=True):
        mean = Fraction(sum(z for z, s in zip(row, seen, strict=True) if s), sum(seen))
        filled.append([Fraction(z) if s else mean for z, s in zip(row, seen, strict=True)])
    return filled


def projected(Z, known, X):
    """Return X_proj."""
    rows = zip(Z, known, X, strict=True)
    return [[Fraction(z) if s else x for z, s, x in zip(*row, strict=True)] for row in rows]


def trained(X):
    """Return f(X) for the skip layer θ that least squares finds: one network of least loss, with W = 0."""
    A = fmpq_mat(len(X), len(X[0]), [fmpq(x.numerator, x.denominator) for row in X for x in row])
    theta = [[fraction(q) for q in row] for row in least_squares(A, A).table()]
    return [[network(column, [[]] * len(x), [], x) for column in zip(*theta, strict=True)] for x in X]


@st.composite
def partly_known(draw):
    """Draw Z and its known entries, at least one in each row."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    Z = draw(st.lists(st.lists(SMALL, min_size=n, max_size=n), min_size=m, max_size=m))
    known = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=m, max_size=m))
    assume(all(map(any, known)))
    return Z, known


@claim("ours-lassonet-alg-5", "Algorithm 5, lines 3 to 8; section 7", "proof, exact", HOLDS)
@mutants("trained", "projected")
def test_it_imputes_the_means_of_rows(check):
    """Lines 4 to 8 would leave X as line 3 made it, with the means of rows, if training were optimal.
    Optimal means that line 6 trains the network to the optimum of ‖f(X_proj) − X_proj‖_F².

    Hypotheses: F as in section 3.1, with its skip layer; line 6 as printed (“between X_proj and Z”) names
    neither f nor a Z off Ω

    Consequences: With the loss on Ω alone the identity is still optimal. With the loss on all of X_proj,
    values are imputed only because of the early stopping of section 7 (after 10 epochs without improvement)
    or the penalty of line 9. Line 3 divides by zero for a row without known entries.

    Unchecked: the experiments of Figure 10
    """

    def converged_at_once(drawn):
        Z, known = drawn
        start = row_means(Z, known)
        X = projected(Z, known, start)
        return start == X and trained(X) == X

    check.forall(partly_known(), converged_at_once)
