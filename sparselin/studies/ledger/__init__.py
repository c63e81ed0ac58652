"""The command `sparselin ledger`: check the claims of the papers, and store or print the verdicts."""
