"""Algorithm 5, LassoNet for matrix completion: the values that its lines 3 to 8 impute.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), section 7. The problem is to
complete a matrix Z of which the entries in Ω are known. P_Ω keeps these entries and sets the others to 0, and
P_Ω^⊥ keeps the others. Line 3 sets X to Z on Ω, and elsewhere to the mean of the known entries of the row.
Then three lines are repeated until X has converged:

    X_proj = P_Ω(Z) + P_Ω^⊥(X)                                                            (line 5)
    train f = f_{θ,W} on the reconstruction loss between X_proj and Z                     (line 6)
    X ← f(X_proj)                                                                         (line 7)

As printed, the loss of line 6 does not contain f, and Z is not known outside Ω. We read the loss as
‖f(X_proj) − X_proj‖_F² or, on Ω alone, as ‖P_Ω(f(X_proj) − Z)‖_F². In both readings the identity is a network
of the class F, with θ = 1 in the skip layer and W = 0. So the least loss is 0. In the first reading, every
optimal f has f(X_proj) = X_proj. Then line 7 sets X to X_proj, and the loop has converged at once. In the
second reading, the identity is optimal, and it does not change X. The checks are exact.
"""

from fractions import Fraction

from flint import fmpq_mat
from hypothesis import assume
from hypothesis import strategies as st

from proofs_checks.exact_prox import SMALL, network
from proofs_checks.rational import fraction, least_squares, rational_of
from sparselin.ledger import HOLDS, claim, mutants


def row_means(Z, known):
    """Return the matrix Z with each unknown entry replaced by the mean of the known entries of its row.

    A row without known entries raises ZeroDivisionError.
    """
    filled = []
    for row, seen in zip(Z, known, strict=True):
        mean = Fraction(sum(z for z, s in zip(row, seen, strict=True) if s), sum(seen))
        filled.append([Fraction(z) if s else mean for z, s in zip(row, seen, strict=True)])
    return filled


def projected(Z, known, X):
    """Return the matrix that equals Z at the known entries, and X at the other entries."""
    rows = zip(Z, known, X, strict=True)
    return [[Fraction(z) if s else x for z, s, x in zip(*row, strict=True)] for row in rows]


def trained(X):
    """Return f(X) for a network f that minimises ‖f(X) − X‖².

    Its skip layer is found by least squares, and its hidden layer is zero.
    """
    A = fmpq_mat(len(X), len(X[0]), [rational_of(x) for row in X for x in row])
    theta = [[fraction(q) for q in row] for row in least_squares(A, A).table()]
    return [[network(column, [[]] * len(x), [], x) for column in zip(*theta, strict=True)] for x in X]


@st.composite
def partly_known(draw):
    """Draw a matrix Z and the mask of its known entries, with at least one known entry in each row."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    Z = draw(st.lists(st.lists(SMALL, min_size=n, max_size=n), min_size=m, max_size=m))
    known = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=m, max_size=m))
    assume(all(map(any, known)))
    return Z, known


@claim("ours-lassonet-alg-5", "Algorithm 5, lines 3 to 8; section 7", "proof, exact", HOLDS)
@mutants("trained", "projected")
def test_it_imputes_the_means_of_rows(check):
    """Algorithm 5 imputes the means of the rows if its line 6 trains the network f to the optimum of
    ‖f(X_proj) − X_proj‖_F². Line 3 sets the unknown entries of X to the means of the rows, and the loop of
    lines 4 to 8 then does not change X.

    Hypotheses: The class F of networks is as in section 3.1, with its skip layer. X_proj is Z at the known
    entries Ω, and X elsewhere. The printed loss of line 6 (“between X_proj and Z”) does not contain the
    network f, and Z is not known outside Ω.

    Consequences: With the loss on Ω alone, the identity is still an optimal f. With the loss on all of
    X_proj, the loop changes X only because training stops early (section 7: after 10 epochs without
    improvement) or because of the penalty of line 9. Line 3 divides by zero for a row without known entries.

    Unchecked: The experiments of Figure 10 are not checked.
    """

    def converged_at_once(drawn):
        Z, known = drawn
        start = row_means(Z, known)
        X = projected(Z, known, start)
        return start == X and trained(X) == X

    check.forall(partly_known(), converged_at_once)
