"""The papers, executable: one file per statement, importing only the public face of sparselin."""

# the versions of Sequential Attention that have a statement
BOTH, ALL = "(ICLR, NeurIPS submission)", "(ICLR, NeurIPS submission, poster)"
