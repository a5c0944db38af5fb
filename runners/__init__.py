"""Measures models on task sets."""
