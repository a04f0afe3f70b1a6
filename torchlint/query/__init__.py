"""Questions that ask each other, each answered once: see README.md."""
