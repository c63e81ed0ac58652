"""Designs on which the theorems are tested: random ones, ones built to tie, and real data.

A random ensemble is a function of (n, d, rng) that returns a `Design`: X (n, d) and y (n,), float64 in C
order, and the truth behind y where there is one. It unpacks into the two:

>>> X, y = gaussian(20, 30)
>>> design = gaussian(20, 30, rng=0, y="signal", k=3, snr=float("inf"))
>>> design
<Design: X (20, 30), y (20,), support=[4, 6, 21]>
>>> float(abs(design.y - design.X @ design.coef).max()) < 1e-15, design.noise.any()
(True, np.False_)

`rng` is an argument of np.random.default_rng: None, the default, draws another design at each call, a seed
the same one. Real data are all their rows for rng=None, random ones for a seed. `y` says how the response is
drawn:

- "noise": standard normal; β = 0.
- "signal": Xβ + noise, β = ±1 on k of the nonzero columns (by default 5, or all if there are fewer), and
  ‖Xβ‖ = snr·‖noise‖ (by default 10; at least 1e-100; infinity for no noise): a ratio of lengths, in variances
  snr². Without noise equal magnitudes are the hardest on average over random designs (Tropp and Gilbert,
  2007); in noise small coefficients are harder. `k` and `snr` belong to this y alone.
- "generic": with probability ½ each, noise, or a combination of at most eight columns with standard normal
  coefficients and log-uniform snr from 1 to 1000: both regimes of the theory, almost surely without ties.
- "tying": in {−1, 0, 1}ⁿ with probability ¾ (dense or sparse; there is no β then), else the sum of two to
  four signed columns, which greedy selection may fit exactly.
- a function of (X, rng) that returns y (n,), or (y, β), the noise being y − Xβ.

A random ensemble has one of them as its default; `planted_ties` has "planted" as well, real data "measured".

All of them raise TypeError when n, d or k is not an integer, rho, snr, … no number, and ValueError when n or
d is below one, another parameter is out of range, y is none of the above, k or snr is given for another y, or
a function y does not return n finite numbers. `ENSEMBLES` has the ensembles of the commands by name;
`register` adds one, `from_file` makes one of a function in a file.
"""

from sparselin.ensembles.design import Design as Design
from sparselin.ensembles.design import Response as Response
from sparselin.ensembles.families import ar1 as ar1
from sparselin.ensembles.families import duplicated as duplicated
from sparselin.ensembles.families import equicorrelated as equicorrelated
from sparselin.ensembles.families import gaussian as gaussian
from sparselin.ensembles.families import heavy_tails as heavy_tails
from sparselin.ensembles.families import ill_conditioned as ill_conditioned
from sparselin.ensembles.families import partial_dft as partial_dft
from sparselin.ensembles.families import partial_hadamard as partial_hadamard
from sparselin.ensembles.families import planted_ties as planted_ties
from sparselin.ensembles.families import rademacher as rademacher
from sparselin.ensembles.families import random_walk as random_walk
from sparselin.ensembles.families import small_integers as small_integers
from sparselin.ensembles.families import sparse_signal as sparse_signal
from sparselin.ensembles.real import breast_cancer as breast_cancer
from sparselin.ensembles.real import diabetes as diabetes
from sparselin.ensembles.real import digits as digits
from sparselin.ensembles.registry import ENSEMBLES as ENSEMBLES
from sparselin.ensembles.registry import BadEnsemble as BadEnsemble
from sparselin.ensembles.registry import Ensemble as Ensemble
from sparselin.ensembles.registry import from_file as from_file
from sparselin.ensembles.registry import of_random_size as of_random_size
from sparselin.ensembles.registry import register as register
from sparselin.ensembles.registry import registration as registration
from sparselin.validation import Rng as Rng
