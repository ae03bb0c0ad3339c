"""Scores and reports: strings and numbers, no torch."""
