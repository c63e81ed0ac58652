"""The guarantees for greedy selection and the ratios achieved."""
