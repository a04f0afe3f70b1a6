"""What runs found before, and what of it still holds."""
