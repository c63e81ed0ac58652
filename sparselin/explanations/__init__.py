"""Explanations: a sentence and numbers that say why a feature was selected, or why not."""
