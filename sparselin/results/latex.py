"""Tables as LaTeX, which pdflatex and the newer engines set without a package."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

# Combinations first: a letter and the mark above it.
_SIGNS = {
    "λ*": r"$\lambda^*$",
    "Π̂": r"$\hat{\Pi}$",
    "Π̃": r"$\tilde{\Pi}$",
    "σ̂": r"$\hat{\sigma}$",
    "ȳ": r"$\bar{y}$",
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "*": r"$^*$",
    "²": r"$^2$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "…": r"\ldots{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "‖": r"$\|$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "varepsilon",
    "η": "eta",
    "θ": "theta",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "varphi",
    "χ": "chi",
    "ω": "omega",
    "Π": "Pi",
}


def escape(text: str) -> str:
    """Return a text with LaTeX's special characters escaped, and signs such as λ and ² as formulas.

    Latin letters with accents stay, because LaTeX reads UTF-8. Other characters stand as U+XXXX.

    >>> print(escape("λ* of a_b < 5 %"))
    $\\lambda^*$ of a\\_b \\textless{} 5 \\%
    """
    found = []
    at = 0
    while at < len(text):
        size = 2 if text[at : at + 2] in _SIGNS else 1
        piece = text[at : at + size]
        at += size
        if piece in _SIGNS:
            found.append(_SIGNS[piece])
        elif piece in _GREEK:
            found.append(rf"$\{_GREEK[piece]}$")
        elif piece.isascii() or unicodedata.name(piece, "").startswith("LATIN"):
            found.append(piece if piece.isprintable() else " ")
        else:
            found.append(f"U+{ord(piece):04X}")
    return "".join(found)


def tabular(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return a `tabular` with a line above, one below the heads, and one at the end.

    right : for each column, whether it is aligned on the right.

    >>> print(tabular(["name", "R²"], [["a_1", "0.5"]], [False, True]))
    \\begin{tabular}{lr}
    \\hline
    name & R$^2$ \\\\
    \\hline
    a\\_1 & 0.5 \\\\
    \\hline
    \\end{tabular}
    <BLANKLINE>
    """
    columns = "".join("r" if each else "l" for each in right)
    lines = [" & ".join(map(escape, row)) + r" \\" for row in (heads, *rows)]
    middle = [r"\hline", lines[0], r"\hline", *lines[1:], r"\hline"]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *middle, r"\end{tabular}", ""])
