"""The table of a run in Markdown, for the terminal and for the docs."""

from collections import Counter

from .answers import AGREE, CONTRADICT, STATUS, TIED
from .rounding import NEAREST
from .rows import ROWS

HEAD = "| method | designs | calls to nearest: agree | tied | status alone | contradict | directed: agree "
HEAD += "| tied | status alone | contradict |"
PEERS_HEAD = "| peer | designs without ties | set changed, to nearest | directed | designs with ties "
PEERS_HEAD += "| set changed, to nearest | directed |"
KINDS = (NEAREST, "directed")


def calls_of(counts):
    """Return the number of calls of the package."""
    ours = {row.id for row in ROWS}
    return sum(number for (name, kind, *_), number in counts.items() if name in ours and kind == "form")


def table(record):
    """Return a line for each method, and a table of the peers."""
    counts = Counter({tuple(key): number for *key, number in record["counts"]})
    lines = [HEAD, "|---|" + "--:|" * 9]
    for row in ROWS:
        if designs := counts[row.id, "designs"]:
            verdicts = [counts[row.id, k, v] for k in KINDS for v in (AGREE, TIED, STATUS, CONTRADICT)]
            lines.append(_line(f"`{row.id}`", designs, *verdicts))
    lines += ["", PEERS_HEAD, "|---|" + "--:|" * 6]
    for name in sorted({key[0] for key in counts if key[1] == "peer"}):
        cells = []
        for kind in ("decided", "tied"):
            cells += [counts[name, "peer", kind], *(counts[name, k, f"{kind}: designs"] for k in KINDS)]
        lines.append(_line(name, *cells))
    return "\n".join(lines)


def _line(*cells):
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"
