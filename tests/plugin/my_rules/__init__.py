"""Rules of a team: an example of a plugin, which docs/own-rules.md explains."""
