"""Leaderboard, figures, site."""
