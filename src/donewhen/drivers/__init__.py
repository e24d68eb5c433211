"""Drivers perform what the core decides and feed back what happened; they decide nothing."""
