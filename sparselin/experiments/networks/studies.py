"""All studies by name."""

from __future__ import annotations

from sparselin.experiments.networks import honest, lassonet_tables
from sparselin.experiments.networks.papers import PAPERS
from sparselin.experiments.networks.pieces import Study
from sparselin.validation import check_new

STUDIES: dict[str, Study] = {}


def register(study: Study) -> Study:
    """Add a study; ValueError for a name that is taken."""
    STUDIES[check_new(study.name, STUDIES, "a study")] = study
    return study


for _study in (*PAPERS, honest.STUDY, lassonet_tables.STUDY):
    register(_study)
