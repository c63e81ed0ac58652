"""What greedy selection achieves, and what was promised."""
