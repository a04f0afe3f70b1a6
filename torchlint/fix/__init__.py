"""Fixes: edits, their order, and what is neat afterwards."""
