"""What runs the program: its entry, its lines, its steps, and its end."""
