"""The command `sparselin guarantee`: compare greedy selection with the best subset and with its bounds."""
