"""The studies. Each study has a folder of its own with its run, its report, its figures and its command."""
