"""The child side of `compare`, `optimize` and `bench`: a warm process that forks one process for each run."""
