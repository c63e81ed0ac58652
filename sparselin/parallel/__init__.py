"""Threads inside one computation, and processes for many computations."""
