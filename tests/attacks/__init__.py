"""Attacks that stay."""
