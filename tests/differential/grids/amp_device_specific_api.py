"""Mixed precision of one device."""

from __future__ import annotations

from ..programs import PLACES, PRELUDE, Grid

_TELLING = """

def told():
    m = torch.ones(2, 2, device="cpu")
    held = [torch.is_autocast_enabled(k) for k in ("cpu", "cuda")] + [torch.get_autocast_dtype(k) for k in ("cpu", "cuda")]
    return [m @ m, *held, torch.is_autocast_cache_enabled()]
"""

_CONTEXTS = {
    "with": "with {E}:\n    return told()",
    "with as": "with {E} as context:\n    return told(), context is None",
    "second of two": "with torch.no_grad(), {E}:\n    return told()",
    "first of two": "with {E}, torch.no_grad():\n    return told()",
    "in parentheses": "with (\n    {E},  # mixed\n    torch.no_grad(),\n):\n    return told()",
    "nested": "with {E}:\n    with {E}:\n        return told()",
    "inside another": "with torch.autocast('cpu', torch.float16):\n    with {E}:\n        return told()",
    "inside of the other": "with torch.autocast('cuda', torch.bfloat16):\n    with {E}:\n        return told()",
    "on one line": "with {E}: r = told()\nreturn r, told()",
    "assigned": "context = {E}\nwith context:\n    return told()",
    "twice": "context = {E}\nwith context:\n    with context:\n        return told()",
    "conditional": "with {E} if c else torch.no_grad():\n    return told()",
    "decorator": "@{E}\ndef inner():\n    return told()\nreturn inner(), told()",
    "call": "return {E}(told)()",
    "stack": "import contextlib\nwith contextlib.ExitStack() as stack:\n    stack.enter_context({E})\n    return told()",
    "by hand": "context = {E}\ncontext.__enter__()\ntry:\n    return told()\nfinally:\n    context.__exit__(None, None, None)",
    "argument": "return pack({E})",
    "lambda": "inner = lambda: {E}\nwith inner():\n    return told()",
    "default": "def inner(context={E}):\n    with context:\n        return told()\nreturn inner()",
    "list": "for context in [{E}]:\n    with context:\n        return told()",
    "f-string": "return f'{{E}.fast_dtype}'",
    "attribute": "return {E}.fast_dtype, {E}.device",
    "deferred": "import functools\nmake = functools.partial(pack, {E})\nreturn make()",
}

_FUNCTION = """\
class Doubled(torch.autograd.Function):
    @staticmethod
    @{E}
    def forward(ctx, t):
        return told(), t * 2

    @staticmethod
    def backward(ctx, _, g):
        return g * 2

return Doubled.apply(x)"""

_BACK = """\
class Doubled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, t):
        return t * 2

    @staticmethod
    @{E}
    def backward(ctx, g):
        box.kept = told()
        return g * 2

return Doubled.apply(x), box.kept"""

GRIDS = (
    Grid(
        fixed={
            "cuda": "torch.cuda.amp.autocast()",
            "cuda off": "torch.cuda.amp.autocast(False)",
            "cuda by name": "torch.cuda.amp.autocast(enabled=True)",
            "cuda dtype": "torch.cuda.amp.autocast(dtype=torch.bfloat16)",
            "cuda by place": "torch.cuda.amp.autocast(True, torch.float16, False)",
            "cuda flag": "torch.cuda.amp.autocast(enabled=c)",
            "cuda named by place": "torch.cuda.amp.autocast(True, dtype=torch.float16)",
            "cpu": "torch.cpu.amp.autocast()",
            "cpu off": "torch.cpu.amp.autocast(False)",
            "cpu by name": "torch.cpu.amp.autocast(enabled=c, cache_enabled=False)",
            "cpu dtype": "torch.cpu.amp.autocast(dtype=torch.float16)",
            "cpu by place": "torch.cpu.amp.autocast(True, torch.bfloat16)",
            "over lines": "torch.cpu.amp.autocast(\n    enabled=True,  # always\n    dtype=torch.bfloat16,\n)",
        },
        refused={
            "spread": "torch.cuda.amp.autocast(*[True])",
            "too many": "torch.cpu.amp.autocast(True, torch.bfloat16, True, None)",
            "new": "torch.amp.autocast('cpu')",
            "any": "torch.autocast('cpu', torch.bfloat16)",
        },
        operands={"none": "x"},
        places=_CONTEXTS,
        prelude=PRELUDE + _TELLING,
        modules=("torch.amp", "torch"),
    ),
    Grid(
        fixed={
            "scaler": "torch.cuda.amp.GradScaler()",
            "scaler off": "torch.cuda.amp.GradScaler(enabled=False)",
            "scaler by place": "torch.cuda.amp.GradScaler(1024.0, 2.0, 0.5, 100, c)",
            "scaler of the host": "torch.cpu.amp.GradScaler(init_scale=8.0)",
            "scaler of the host by place": "torch.cpu.amp.GradScaler(4.0)",
            "scale": "torch.cpu.amp.GradScaler(4.0).scale({raw})",
        },
        refused={"scaler of many": "torch.cuda.amp.GradScaler(*[1.0])", "new scaler": "torch.amp.GradScaler('cpu')"},
        places=PLACES,
        modules=("torch.amp", "torch"),
    ),
    Grid(
        fixed={
            "forward": "torch.cuda.amp.custom_fwd",
            "forward of a dtype": "torch.cuda.amp.custom_fwd(cast_inputs=torch.float16)",
            "forward without a dtype": "torch.cuda.amp.custom_fwd(cast_inputs=None)",
        },
        operands={"none": "x"},
        places={"function": _FUNCTION},
        prelude=PRELUDE + _TELLING,
        modules=("torch.amp", "torch"),
    ),
    Grid(
        fixed={"backward": "torch.cuda.amp.custom_bwd"},
        operands={"none": "x"},
        places={"function": _BACK},
        prelude=PRELUDE + _TELLING,
        modules=("torch.amp", "torch"),
    ),
)
