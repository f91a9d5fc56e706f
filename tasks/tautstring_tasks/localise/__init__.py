"""Weakly supervised localisation: nets with class activation maps."""
