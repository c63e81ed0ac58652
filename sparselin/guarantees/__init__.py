"""How close greedy selection comes to the best subset: what was promised, what was achieved."""
