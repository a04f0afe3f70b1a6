"""The script that runs the model where it is."""

from registry import build

model = build("detector").to("cpu")
