"""Trained models at work, saved, loaded and exported."""
