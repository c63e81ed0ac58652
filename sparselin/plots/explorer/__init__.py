"""The explorer: the dual polytope in a browser, with handles to drag, and the picks of each method.

`state` is a design with y, λ and S, and its address. `presets` has states with an explanation. `snapping`
moves a dragged point to a tie nearby. `frame` computes all numbers of one picture with public functions. The
scripts in `pages` draw these numbers; they compute only the projection of three dimensions to two. `widget`
connects the numbers and the scripts in a notebook, and `serve` connects them on a page of this machine
(`app`). `pages` also writes pages that need no Python.
"""
