"""Distances of data from data with another selection: condition numbers, bounds and witnesses."""
