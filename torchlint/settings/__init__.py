"""Which files are linted, and with which settings."""
