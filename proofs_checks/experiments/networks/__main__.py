"""The command `python -m proofs_checks.experiments.networks`; `--help` lists its options."""

from proofs_checks.experiments.networks.command import networks

networks(prog_name=networks.name)
