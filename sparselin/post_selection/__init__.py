"""Inference after selection: p-values and intervals, knockoffs, stability selection, and leave-one-out."""
