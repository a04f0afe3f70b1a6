"""Sizes and names that all parts share."""

from __future__ import annotations

from typing import Any

MODES = ("eval", "train", "labels")
MEMORY = 6 << 30  # bytes of address space for one run
MOST_PARAMETERS = 300_000_000
ROWS = 2  # of a batch: one whole, one padded
WORDS = 12  # tokens of text in a row
VOCABULARY = 128
FIRST_SPECIAL = 96  # special tokens that do not fit the vocabulary are given ids from here on; random text stays below
WIDTH = 64
HEADS = 4
Settings = dict[str, Any]
Inputs = dict[str, Any]


class OutOfTimeError(BaseException):
    """The run's time is over; no Exception, so that neither Dynamo nor a model swallows it."""
