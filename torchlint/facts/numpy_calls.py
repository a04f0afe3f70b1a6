"""What functions of NumPy give."""

from __future__ import annotations

from .arguments import Arguments
from .values import ARRAY_OR_NUMBER, LIKELY, NDARRAY, NUMBER, UNKNOWN, Tuple, Value, tensor

_NUMPY_NUMBERS = frozenset("prod ceil floor log2 log10 round".split())
_TYPES = frozenset("bool_ int8 int16 int32 int64 uint8 float16 float32 float64 single double".split())
_NUMPY_ELEMENTWISE = _TYPES | frozenset(
    """log log1p exp expm1 exp2 sqrt cbrt square abs absolute fabs sign negative reciprocal power float_power maximum minimum
    fmax fmin clip mod sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh deg2rad rad2deg radians degrees""".split()
)
"""What gives a number of numbers: types of NumPy, too."""
# Draws of one number, up to so many positional arguments; one more is a shape.
_DRAWS = {
    "rand": 0,
    "randn": 0,
    "random": 0,
    "randint": 2,
    "uniform": 2,
    "normal": 2,
    "choice": 1,
    "beta": 2,
    "poisson": 1,
}
NUMPY_REDUCES = frozenset("mean sum min max amin amax std var median prod argmax argmin average any all".split())
"""What gives one number of all elements, where no axis is given."""
_OF_MATRICES = frozenset(
    f"numpy.{name}" for name in "linalg.det linalg.norm linalg.cond linalg.matrix_rank trace dot inner vdot".split()
)
"""What gives a number of one matrix, or of two vectors, and an array of many."""


def numpy_call(name: str, args: Arguments) -> Value:
    """What a call of `numpy....` gives: an array, or one number where that is known."""
    last = name.rpartition(".")[2]
    if name.startswith("numpy.math."):
        return NUMBER  # Python's own module, as older versions had it
    if last in _NUMPY_NUMBERS and args.first.kind in ("number", "size", "tuple"):
        return NUMBER
    if last in _NUMPY_ELEMENTWISE and not (args.open or args.keywords) and args.positional:
        if all(one.is_tensor or one.kind in ("number", "ndarray") for one in args.positional) and args.first.is_tensor:
            return tensor("cpu")
        # `np.sqrt(x.cpu())`: NumPy gives back what it is given.
        if len(args) == 1 and args.first.on_cpu and args.first.kind in ("tensor", "unknown"):
            return tensor("cpu", certainty=LIKELY)
        kinds = {"number" if "number" in one.other_kinds else one.kind for one in args.positional}
        if kinds <= {"number", "unknown"}:  # what is not known may be either
            return NUMBER if all(one.kind == "number" for one in args.positional) else ARRAY_OR_NUMBER
    if last in NUMPY_REDUCES and len(args) == 1 and not args.open:
        return NUMBER
    if name == "numpy.nonzero" or (name == "numpy.where" and len(args) == 1 and not args.open):
        return Tuple(element=NDARRAY)  # of each axis the places
    if name in _OF_MATRICES or (last in _TYPES and args.first.kind == "unknown"):
        return ARRAY_OR_NUMBER
    if last in ("load", "savez", "save", "savez_compressed"):
        return UNKNOWN
    if (
        name.startswith("numpy.random.")
        and "size" not in args.keywords
        and len(args.positional) <= _DRAWS.get(last, -1)
    ):
        return NUMBER
    return NDARRAY
