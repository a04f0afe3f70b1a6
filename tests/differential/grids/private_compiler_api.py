"""Private names of the compiler."""

from __future__ import annotations

from ..programs import PLACES, Grid

_DECORATED = """\
@{E}
def inner(t):
    return t.sin()
return inner(x), type(inner).__name__"""

GRIDS = (
    Grid(
        fixed={
            "disable": "torch._dynamo.disable",
            "disable of all below": "torch._dynamo.disable()",
            "disable of one": "torch._dynamo.disable(recursive=False)",
            "disable for a reason": "torch._dynamo.disable(reason='it prints')",
            "disabled": "torch._dynamo.disable(same)",
            "disabled with all below": "torch._dynamo.disable(same, True)",
            "disabled by name": "torch._dynamo.disable(fn=same)",
            "allow in graph": "torch._dynamo.allow_in_graph",
            "allowed": "torch._dynamo.allow_in_graph(same)",
            "allowed together": "torch._dynamo.allow_in_graph([same, pack])",
            "reset": "torch._dynamo.reset()",
            "backends": "torch._dynamo.list_backends()",
            "all backends": "torch._dynamo.list_backends(None)",
            "backends by name": "torch._dynamo.list_backends(exclude_tags=())",
            "limit": "torch._dynamo.config.cache_size_limit",
            "limit of all": "torch._dynamo.config.accumulated_cache_size_limit",
        },
        either={
            "constant": "torch._dynamo.assume_constant_result",
            "constant of": "torch._dynamo.assume_constant_result(same)",
        },
        refused={
            "is compiling": "torch._dynamo.is_compiling()",
            "is compiling, of utils": "torch._dynamo.external_utils.is_compiling()",
            "is compiling, of torch": "torch._utils.is_compiling()",
            "without a wrapper": "torch._dynamo.disable(wrapping=False)",
            "optimize": "torch._dynamo.optimize('eager')(same)",
            "other": "torch._dynamo.graph_break()",
        },
        operands={"none": "x"},
        places={
            **PLACES,
            "decorator": _DECORATED,
            "method's decorator": "class Inner:\n    @{E}\n    def f(self):\n        return x\nreturn Inner().f()",
            "class method's decorator": "class Inner:\n    @classmethod\n    @{E}\n    def f(cls):\n        return x\nreturn Inner.f()",
            "assigned to": "before = {E}\n{E} = 64\nafter = {E}\n{E} = before\nreturn before, after",
            "augmented in place": "{E} += 1\nr = {E}\n{E} -= 1\nreturn r",
            "patched": "with torch._dynamo.config.patch(cache_size_limit=3):\n    return {E}",
            "compiled": "return torch.compile(lambda t: t + 1 if {E} else t - 1, backend='eager')(x)",
        },
        modules=("torch.compiler", "torch._dynamo", "torch"),
    ),
)
