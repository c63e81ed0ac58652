"""The designs on which the theorems are tested: random designs, designs with ties, and real data.

A random ensemble is a function of (n, d, rng) that returns a `Design`: X (n, d) and y (n,), float64 in C
order, and the true β and noise of y if there are any. A `Design` unpacks into X and y:

>>> X, y = gaussian(20, 30)
>>> design = gaussian(20, 30, rng=0, y="signal", k=3, snr=float("inf"))
>>> design
<Design: X (20, 30), y (20,), support=[4, 6, 21]>
>>> float(abs(design.y - design.X @ design.coef).max()) < 1e-15, design.noise.any()
(True, np.False_)

`rng` is an argument of np.random.default_rng. With None, the default, each call draws another design. With a
seed every call draws the same design. A real data set has all its rows for rng=None, and random rows for a
seed. The argument `y` determines how the response is drawn:

- "noise": standard normal; β = 0.
- "signal": Xβ + noise, where β = ±1 on k of the nonzero columns (by default 5, or all if there are fewer),
  and ‖Xβ‖ = snr·‖noise‖. `snr` is a ratio of lengths, so the ratio of variances is snr²; it is 10 by default,
  at least 1e-100, and infinity for no noise. Without noise, coefficients of equal magnitude are the hardest
  on average over random designs (Tropp and Gilbert, 2007); with noise, small coefficients are harder. `k` and
  `snr` may be given for this y only.
- "generic": with probability ½ noise, and otherwise a combination of at most eight columns with standard
  normal coefficients and log-uniform snr from 1 to 1000. So both cases of the theory, noise and signal, are
  drawn, almost surely without ties.
- "tying": with probability ¾ a vector in {−1, 0, 1}ⁿ (dense or sparse, without β), and otherwise the sum of
  two to four signed columns, which greedy selection may fit exactly.
- a function of (X, rng) that returns y (n,), or (y, β); in the second case the noise is y − Xβ.

Each random ensemble has one of these rules as its default y. `planted_ties` also has the rule "planted", and
real data also have the rule "measured".

All ensembles raise TypeError if n, d or k is not an integer, or if rho, snr, … is not a number. They raise
ValueError if n or d is below one, if another parameter is out of range, if y is not one of these rules, if k
or snr is given for a rule other than "signal", or if a function y does not return n finite numbers.
`ENSEMBLES` has the ensembles of the commands by name; `register` adds an ensemble, and `from_file` makes one
from a function in a file.
"""

from sparselin.ensembles.design import Design as Design
from sparselin.ensembles.design import Response as Response
from sparselin.ensembles.families import ar1 as ar1
from sparselin.ensembles.families import breast_cancer as breast_cancer
from sparselin.ensembles.families import diabetes as diabetes
from sparselin.ensembles.families import digits as digits
from sparselin.ensembles.families import duplicated as duplicated
from sparselin.ensembles.families import equicorrelated as equicorrelated
from sparselin.ensembles.families import gaussian as gaussian
from sparselin.ensembles.families import heavy_tails as heavy_tails
from sparselin.ensembles.families import ill_conditioned as ill_conditioned
from sparselin.ensembles.families import near_ties as near_ties
from sparselin.ensembles.families import partial_dft as partial_dft
from sparselin.ensembles.families import partial_hadamard as partial_hadamard
from sparselin.ensembles.families import planted_ties as planted_ties
from sparselin.ensembles.families import rademacher as rademacher
from sparselin.ensembles.families import random_walk as random_walk
from sparselin.ensembles.families import small_integers as small_integers
from sparselin.ensembles.families import sparse_signal as sparse_signal
from sparselin.ensembles.registry import ENSEMBLES as ENSEMBLES
from sparselin.ensembles.registry import BadEnsemble as BadEnsemble
from sparselin.ensembles.registry import Ensemble as Ensemble
from sparselin.ensembles.registry import carried as carried
from sparselin.ensembles.registry import from_file as from_file
from sparselin.ensembles.registry import of_random_size as of_random_size
from sparselin.ensembles.registry import register as register
from sparselin.validation import Rng as Rng
