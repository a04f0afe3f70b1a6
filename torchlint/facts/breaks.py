"""Every construct that breaks Dynamo's graph, by the code of the rule that reports it outside of fullgraph regions."""

from __future__ import annotations

from collections.abc import Callable

from . import break_calls, break_values
from .break_place import Break, Place

Detector = Callable[[Place], Break | None]

DETECTORS: dict[str, Detector] = {
    "TL201": break_values.scalar_read,
    "TL202": break_values.tensor_branch,
    "TL203": break_calls.io_or_logging,
    "TL204": break_values.dynamic_shape_op,
    "TL205": break_calls.untraceable_call,
    "TL206": break_calls.state_change,
    "TL207": break_calls.autograd_call,
    "TL208": break_calls.unsupported_module,
}
KINDS = frozenset("call if while ternary assert boolop comprehension subscript assign".split())
"""The nodes that a detector may be asked about."""


def broken(place: Place, code: str) -> Break | None:
    """The construct of a rule at a place of a region that may break: compiled without fullgraph=True."""
    if place.region is None or place.region.fullgraph:
        return None
    found = DETECTORS[code](place)
    return found if found is not None and found.breaks else None


def violation(place: Place) -> Break | None:
    """The construct at a place that a region with fullgraph=True raises for."""
    if place.region is None or not place.region.fullgraph:
        return None
    found = next(filter(None, (detect(place) for detect in DETECTORS.values())), None)
    return found if found is not None and found.fullgraph else None
