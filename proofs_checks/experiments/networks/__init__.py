"""The papers' experiments with networks, run again."""
