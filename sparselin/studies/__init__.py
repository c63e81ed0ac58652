"""The studies: each has a folder with its computations, its report, its figures and its command."""
