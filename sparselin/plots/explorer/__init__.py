"""The explorer: the dual polytope with handles, in a browser, beside what each method picks.

`state`: a design, y, λ and S, which is also what an address says; `presets`: some with a story. `snapping`
moves what is dragged to a tie nearby. `frame`: all numbers of one picture, from public functions; the scripts
(in `pages`) draw them and compute nothing but how three dimensions look in two. `widget` joins the two in a
notebook, `serve` on a page of this machine (`app`), and `pages` writes pages that need no Python.
"""
