"""All studies of network experiments by name, in the order in which they run.

The studies that decide whether the figures of the papers are reproduced come first.
"""

from proofs_checks.experiments.networks import attention_study, honest, lassonet_study, signals
from proofs_checks.experiments.networks.pieces import Study
from sparselin.validation import check_new

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        *attention_study.STUDIES,
        honest.STUDY,
        lassonet_study.STUDY,
        lassonet_study.PIXELS,
        lassonet_study.COMPLETION,
        attention_study.GAINS,
        honest.ANCHORS,
        honest.DOWNSTREAM,
        signals.STUDY,
    )
}
"""Name ↦ study."""


def register(study: Study) -> Study:
    """Add a study to the list of all studies. Raises ValueError if its name is taken."""
    STUDIES[check_new(study.name, STUDIES, "a study")] = study
    return study
