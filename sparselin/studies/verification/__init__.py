"""The command `sparselin verify`: check Theorem 3.3 on many designs, with its run, report and figures."""
