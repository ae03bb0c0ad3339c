"""Learning: what happens between the first step and the last; nothing here prints."""
