"""The papers, executable: one file per statement, importing only the public face of sparselin."""

BOTH = "(ICLR, NeurIPS submission)"  # versions of Sequential Attention with the same statement
