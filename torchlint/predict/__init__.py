"""What a step would take on a GPU that isn't there, and what a finding costs of it. Nothing here imports torch."""
