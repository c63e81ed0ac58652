"""The experiments of the papers, computed again: networks, and the diversity of selected pixels."""
