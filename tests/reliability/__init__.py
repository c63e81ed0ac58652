"""Reliability as a figure: does an answer change where nothing but rounding changed?

A design of the attacks is given to a method in cells: as it is, with permuted rows and columns, multiplied by
powers of two, with rows divided, and all of it together (`variants`); in C and Fortran order; with compiled
and interpreted kernels; under the four rounding modes of IEEE 754 (`rounding`). These data are exactly the
same problem, so two answers must not contradict one another (`answers`).

What counts. An answer claims something at each step: the best columns are among T, its ties. Two answers
contradict one another if they made the same picks so far, and then claim disjoint sets T, or if they claim
disjoint intervals for a number. Otherwise they agree, or another column of a tie was picked, or only the
status differs. After BEYOND_PRECISION an answer claims nothing, but its picks before that count.

`python -m tests.reliability --help` has the options; `measured.json` is a stored run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does: for the table of methods and the attacks
