"""The experiments of the papers, run again: networks, and the diversity of pixels."""
