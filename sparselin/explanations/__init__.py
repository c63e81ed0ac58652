"""Why a feature was selected, or was not: numbers from the data and a path, and a sentence."""
