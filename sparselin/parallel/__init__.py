"""Threads inside one computation, processes for many."""
