"""The papers, executable: one file per statement, importing only the public face of sparselin."""
