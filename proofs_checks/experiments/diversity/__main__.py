"""The command `python -m proofs_checks.experiments.diversity`; `--help` lists its options."""

from proofs_checks.experiments.diversity.command import diversity

diversity(prog_name=diversity.name)
