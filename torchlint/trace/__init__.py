"""Runs the user's program and writes down what it did: with `runner/` the only code here that imports torch.

`program/` runs it and knows its lines and steps; `eager/` looks on at operators, on a virtual GPU or a real one;
`compiled/` at what `torch.compile` makes of it. `child` puts them together for one job, `doctor` proves them one by one.
"""
