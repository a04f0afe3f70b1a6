"""Fixers of the team's rules, each named like its rule."""
