"""Certificates of a selection path, checked in exact arithmetic or in float64 with error bounds."""
