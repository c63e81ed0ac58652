"""All claims of `proofs_checks/`."""

from pathlib import Path

from sparselin.ledger import collect

FOLDER = Path(__file__).parents[1] / "proofs_checks"
CLAIMS = collect(FOLDER)
