"""Comments on pull and merge requests."""
