"""Studies: each is whole in its folder, with its run, its report, its figures and its command."""
