"""The studies. Each study has a folder with its computations, its report, its figures and its command."""
