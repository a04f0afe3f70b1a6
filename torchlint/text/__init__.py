"""Texts and places in them: sources, notebooks, suppressions, findings."""
