"""What torch's own operators do, as data."""
