"""Runs the user's program and writes down what it did: the only code here that imports torch."""
