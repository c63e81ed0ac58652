"""The experiments of the papers, computed again: networks and diverse pixels; and ours on inference."""
