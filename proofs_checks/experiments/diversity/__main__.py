"""`python -m proofs_checks.experiments.diversity --help` says what there is."""

from proofs_checks.experiments.diversity.command import diversity

diversity(prog_name=diversity.name)
