"""`python -m proofs_checks.experiments.networks --help` says what there is."""

from proofs_checks.experiments.networks.command import networks

networks(prog_name=networks.name)
