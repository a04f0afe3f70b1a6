"""Findings and traced runs, joined."""
