"""How far greedy selection is from the best subset, and what was promised: the command `guarantee`."""
