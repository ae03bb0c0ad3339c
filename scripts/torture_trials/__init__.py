"""The trials of ``scripts/torture``."""
