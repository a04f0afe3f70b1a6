"""Proves that a change pays and leaves the numbers alone: `compare`, `optimize` and `bench` from the parent's side."""
