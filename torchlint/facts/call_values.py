"""What calls give: of functions and methods, of the project's and of others'."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..system.cached import kept
from ..system.regex import regex
from . import (
    batches,
    calls,
    carriers,
    common_names,
    dataclass_fields,
    left_on_host,
    module_calls,
    moves,
    names,
    numpy_calls,
    operations,
    operator_results,
    picture_calls,
    syntax,
    used_as_tensor,
)
from . import torch_table as table
from .arguments import Arguments
from .bindings import Assigned, shows_tensor
from .builtin_calls import builtin, dictionary, drawn, iteration, of_time
from .chosen import choice
from .elements import element
from .evaluator import Evaluator, Given
from .library_calls import library, takes_whole_step
from .literals import literals
from .loader_calls import collated, loader_of, of_tensors, pinned_by_option, told_to_pin, where_samples_are
from .members import attribute_of, each_class, member
from .module import Class, Function, key_of
from .nodes import NEXT, argument_of, keyword_of, names_in, spreads, string
from .promises import promised
from .values import (
    LIKELY,
    LIKELY_TENSOR,
    LIST,
    NDARRAY,
    NUMBER,
    PROVEN,
    STR,
    TENSOR,
    UNKNOWN,
    Accelerator,
    Batch,
    Device,
    Dict,
    Loader,
    ModuleValue,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    join_all,
    replace,
    sequence,
    tensor,
)

SHORT = 40
"""So many lines of code has a helper, at most, of which is asked what it makes of certain tensors."""
LONG = 100
"""The same, where all of these are on the host."""
# What makes an object of a dataclass from the command line.
_OPTION_PARSERS = frozenset(
    ("tyro.cli", "simple_parsing.parse", "jsonargparse.CLI", "jsonargparse.auto_cli", "draccus.parse", "pyrallis.parse")
)
DTYPE_CASTS = frozenset(("float", "half", "double", "bfloat16", "long", "int", "bool"))
CASTS = DTYPE_CASTS | {"contiguous"}
_OF_MOVED = (table.TENSOR_ONLY | frozenset("view reshape squeeze flatten mean sum argmax max min norm t".split())) - {
    "contiguous",
    "detach",
}
"""Methods that show that what was moved to a device is a tensor: neither a module nor a batch of a library has them."""
_SHAPES = regex(r"mask|keypoint|kp")
"""Fields of a `BoxList` that hold objects of classes of its own."""
_PYTHON_2 = {
    "itertools.izip": "zip",
    "itertools.imap": "map",
    **{f"six.moves.{name}": name for name in ("zip", "map", "filter", "range")},
    "six.moves.xrange": "range",
}
"""What programs for Python 2 as well import for functions that are built in: `from itertools import izip as zip`."""
_OF_DISTRIBUTIONS = {"log_prob": 1, "entropy": 0, "rsample": 0}
"""Methods that torch's distributions and those made like them have, with how many arguments they are given."""
_ENCODED = Batch(LIKELY, device="cpu")
"""The tensors that a tokenizer makes of words, by name."""
_BUILTINS: dict[str, type] = {
    "dict": dict,
    "list": list,
    "none": type(None),
    "number": float,
    "str": str,
    "tuple": tuple,
}
"""The types of Python whose methods are known, by the kinds of their values."""
_OBJECTS = frozenset(("instance", "module"))
_MADE_BY_FIELDS = frozenset(("class", "function", "instance", "module"))
_SHORT = 4
"""Statements of a method that does little but make something."""
_LIBRARIES = frozenset(
    """torchvision timm transformers segmentation_models_pytorch monai torchaudio open_clip clip torch_geometric
    torch_scatter torch_sparse dgl torchmeta einops""".split()
)
"""Those of whose functions `library` tells what they give."""
_DICTIONARIES = frozenset(("OrderedDict", "defaultdict"))
_RECORDS = frozenset(("types.SimpleNamespace", "easydict.EasyDict", "munch.Munch", "addict.Dict", "attrdict.AttrDict"))
"""What has as attributes what it is given by name."""
_STAYING = frozenset(("loader", "module", "dataset"))
"""What nobody counts up in a record, or clears."""
_ACCELERATING = frozenset(("accelerate", "lightning", "lightning_fabric", "lightning_utilities"))


def call(values: Evaluator, node: ast.Call) -> Value:
    value = _called(values, node)
    if value.proven:
        return value
    if not value and _encodes(node):
        return _ENCODED
    return told_to_pin(values, node) or value


def called_on(values: Evaluator, node: ast.expr, name: str, owner: Value) -> Value | None:
    """What methods give that are called of a name, one after the other, where that is a given value: `x.to(device).float()`."""
    match node:
        case ast.Name(id=own):
            return owner if own == name else None
        case ast.Call(func=ast.Attribute(value=inner) as function):
            base = called_on(values, inner, name, owner)
            return None if base is None else _method(values, base, function, node, values.arguments(node))
    return None


def _called(values: Evaluator, node: ast.Call) -> Value:
    function = node.func
    name = values.dotted(function)
    if name is not None and isinstance(function, ast.Name) and values.is_of_branches(function.id):
        chosen = values.expr(function)
        if chosen.kind == "class" and chosen.classes:
            return _of_value(values, chosen, node, values.arguments(node), function)
    if name is not None:
        value = _by_name(values, name, node, values.arguments(node).beside(_given_before(values, function)))
        return value if value or value.proven else _of_imported(values, function, node)
    if isinstance(function, ast.Attribute):
        return _method(values, values.expr(function.value), function, node, values.arguments(node))
    return _of_value(values, values.expr(function), node, values.arguments(node), function)


def _of_imported(values: Evaluator, function: ast.expr, node: ast.Call) -> Value:
    """What a method gives of an object that another file of the project makes: `data.sample()` behind `from utils import data`.

    Also what a function of torch's gives that has another name there: `zeros = torch.zeros`.
    """
    named = values.expr(function)
    if named.kind == "name" and named.class_name.startswith("torch."):
        return _by_name(values, named.class_name, node, values.arguments(node))
    owner = values.expr(function.value) if isinstance(function, ast.Attribute) else UNKNOWN
    if not isinstance(function, ast.Attribute) or not owner.proven or owner.kind not in _OBJECTS:
        return UNKNOWN
    return _method(values, owner, function, node, values.arguments(node))


def _given_before(values: Evaluator, function: ast.expr) -> dict[str, Value] | None:
    """What `functools.partial` gave by name to what a local name stands for."""
    binding = values.reach.get(function) if isinstance(function, ast.Name) else None
    bound = values.bound(binding) if binding is not None else UNKNOWN
    return bound.entries if bound.kind == "name" else None


def _result_of(
    values: Evaluator, function: Function, node: ast.Call, args: Arguments, owner: Class | None = None
) -> Value:
    """What calling a function gives: a generator that hands on what it iterates over gives the elements of that.

    `Net.from_pretrained(path)` makes a `Net`, however long the way to it is.
    """
    if owner is not None and function.name == "from_pretrained" and "classmethod" in function.decorator_names:
        return replace(values.instance(owner, node), certainty=LIKELY)
    if function.handed_on is not None:
        passed = function.argument(node, function.handed_on)
        whole = values.expr(passed) if passed is not None else UNKNOWN
        if whole.kind == "loader":
            return replace(whole, begun=True)
        each = element(values, whole, passed) if passed is not None else UNKNOWN
        if each:
            return sequence(each)
    return carriers.as_named(function, _returned_by(values, function, args, owner))


def _of_lambda(values: Evaluator, function: ast.Lambda, args: Arguments) -> Value:
    """What a lambda gives that hands on what it is given, `lambda x: x`, iterates over it, `lambda x: tqdm(x)`, or makes a loader.

    Of a tensor, also what its methods make of it: `lambda x: x.reshape(-1)`.
    """
    parameters, body = function.args.args, function.body
    if isinstance(body, ast.Call) and function in values.function.flow.parents:
        told = {name for keyword in body.keywords for name in names_in(keyword.value)}
        if told.isdisjoint(one.arg for one in parameters) and (made := values.expr(body)).kind == "loader":
            return made
    if len(parameters) != 1 or len(args.positional) != 1:
        return UNKNOWN
    if isinstance(body, ast.Call) and body.args and names.last(body.func) in table.ITERATION_WRAPPERS:
        body = body.args[0]
    read = values.expr if function in values.function.flow.parents else _written_out
    return by_methods(body, parameters[0].arg, args.first, read)


def by_methods(node: ast.expr, name: str, given: Value, read: Callable[[ast.expr], Value]) -> Value:
    """What stands under a name, `x`, or what methods of tensors make of it: `x.detach().cpu()`."""
    if isinstance(node, ast.Name) and node.id == name:
        return given
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return UNKNOWN
    base = by_methods(node.func.value, name, given, read)
    return (
        calls.tensor_method(base, node.func.attr, node, Arguments.of(node, read)) if base.kind == "tensor" else UNKNOWN
    )


def _written_out(node: ast.expr) -> Value:
    """What is written out, in a function that is not looked into."""
    return constant(node.value) if isinstance(node, ast.Constant) else UNKNOWN


def _by_name(values: Evaluator, name: str, node: ast.Call, args: Arguments) -> Value:
    definition = values.definition(name)
    of_class = (isinstance(definition, Function) and definition.cls is not None) or name.endswith(".apply")
    owner = values.definition(name.rpartition(".")[0]) if of_class else None
    if isinstance(definition, Function):
        return _result_of(values, definition, node, args, owner if isinstance(owner, Class) else None)
    if isinstance(definition, Class):
        return _made(values, definition, node, args)
    if isinstance(owner, Class) and values.world.is_autograd_function(owner):
        return _applied(values, owner, args)
    if name in table.PASS_THROUGH:
        given = args.first
        if name == "torch.compile":
            return module_calls.compiled(given)
        return replace(given, certainty=max(given.certainty, LIKELY)) if given else ModuleValue(LIKELY)
    if name in table.COPIES:
        is_entry = bool(node.args) and isinstance(node.args[0], ast.Subscript)  # `args["device"]`
        return args.first if args.first or is_entry else ModuleValue(LIKELY)
    if name == "dataclasses.field":
        return _of_field(values, node)
    root = name.partition(".")[0]
    if name == "torch.jit.annotate" and node.args:
        return promised(values, node.args[0])
    if name == "torch.utils.checkpoint.checkpoint" and node.args:
        return _of_value(values, args.first, node, args, node.args[0]) or LIKELY_TENSOR
    if name.startswith("torch.autograd") and name.endswith(".Variable"):
        return args.first if args.first.kind == "tensor" else TENSOR  # a tensor, since torch 0.4
    if root == "torch":
        value = calls.torch_call(name, node, args)
        if value.kind == "tensor" and operator_results.hangs_on_default(name, args):
            value = replace(value, device=_where_made(values, node, value))
        elif value.device == "cpu" and _is_made_elsewhere(values, name, args):
            value = replace(value, device="")
        if value.kind == "loader":
            value = where_samples_are(values, pinned_by_option(values, value, node), args)
            value = of_tensors(values, collated(values, value, args), args)
        return replace(value, made_in=values.function.module) if value.made_by is not None else value
    if name in table.PINNING_LOADERS:
        return where_samples_are(values, loader_of(values, None, name, node, args), args)
    if name in table.SAMPLING_LOADERS:
        sampling = loader_of(values, None, name, node, args)
        return sampling if sampling.pinned else UNKNOWN
    moves = name in table.MOVING_LOADERS and "device" in args.keywords and not args.keywords["device"].on_cpu
    if moves or name in table.LIBRARY_LOADERS:
        graphs = batches.made_loader(Loader(class_name=name, made_by=node, made_in=values.function.module), None)
        return operations.prepared(graphs) if moves else where_samples_are(values, graphs, args)
    if root == "numpy":
        return numpy_calls.numpy_call(name, args)
    if root in picture_calls.ROOTS:
        return picture_calls.picture_call(name)
    last = name.rpartition(".")[2]
    if name in table.ITERATION_WRAPPERS or last in ("tqdm", "trange"):
        return iteration(values, last, args)
    if root in _ACCELERATING and last == "skip_first_batches":
        return args.first  # a loader with the same options
    if root in _ACCELERATING and last in ("Accelerator", "Fabric"):
        return Accelerator(class_name=name)
    if last == "from_pretrained":
        return operations.pretrained(name)
    name = _PYTHON_2.get(name, name)
    if "." not in name:
        return builtin(values, name, node, args)
    if root in ("random", "time"):
        return drawn(values, last, args) if root == "random" else of_time(last)
    if name == "itertools.repeat":
        return sequence(args.first)
    if root in ("os", "math", "sys"):
        return NUMBER if root == "math" else UNKNOWN
    if root in _LIBRARIES:
        return library(values, name, node, args)
    if name in ("functools.partial",):
        named = dict(args.keywords) if args.first.kind == "name" else {}
        return replace(args.first, entries=named) if args.first.kind == "name" and named else args.first
    if root == "collections" and last in _DICTIONARIES and _starts_empty(last, args):
        makes = args.first.class_ if args.first.kind == "class" else None
        return Dict(entries={}, element=values.instance(makes) if makes is not None else None, made_by=node)
    if name == "collections.OrderedDict" and not args.open:
        return dictionary(node, args)
    if name == "collections.deque" and not args.open:
        held = sequence(element(values, args.first, None)) if args.positional and args.first else LIST
        return replace(held, made_by=node)
    if name == "dataclasses.asdict" and args.first.kind == "instance":
        return _by_fields(values, args.first)
    if name in ("collections.namedtuple", "typing.NamedTuple"):
        return operations.named_tuple_class(node)
    if name in _RECORDS and args.keywords and not args.open and not args.positional:
        return Dict(entries={key: one if one.kind in _STAYING else UNKNOWN for key, one in args.keywords.items()})
    if name in _OPTION_PARSERS and args.first.class_ is not None:
        return values.instance(args.first.class_, node)
    bound = values.named(name)  # what another file of the project binds the name to
    return _of_value(values, bound, node, args, node.func) if bound.kind in ("class", "function", "module") else UNKNOWN


def _by_fields(values: Evaluator, owner: Value) -> Value:
    """The fields of an object by their names, also those that are given to a call by them, if nothing sets them behind the call that made it."""
    klass, made = owner.class_, dataclass_fields.call_of(owner)
    if klass is None or made is None or not dataclass_fields.is_kept(klass) or spreads(made):
        return owner
    return Dict(entries={one: member(values, owner, one) for one in dataclass_fields.of(klass)})


def _starts_empty(last: str, args: Arguments) -> bool:
    """`OrderedDict()`, `defaultdict(int)`: the one argument of the latter makes what has no key yet."""
    return not args.open and not args.keywords and len(args.positional) <= (last == "defaultdict")


def _where_made(values: Evaluator, node: ast.Call, made: Tensor) -> Device:
    """Where a tensor is made that is given no device: where a `with torch.device("cuda"):` around it says, or the program."""
    flow = values.function.flow
    for above in flow.ancestors(node) if node in flow.parents else ():
        for item in reversed(above.items) if isinstance(above, ast.With) else ():
            said = values.expr(item.context_expr) if _may_be_device(item.context_expr) else UNKNOWN
            if said.kind == "device":
                return said.device
    return "" if made.device == "cpu" and (values.sets_device or values.sets_type) else made.device


def _may_be_device(context: ast.expr) -> bool:
    """`with torch.device("cuda"):`, `with device:`; other calls give contexts of other kinds."""
    return not isinstance(context, ast.Call) or "device" in names.last(context.func)


def _is_made_elsewhere(values: Evaluator, name: str, args: Arguments) -> bool:
    """Whether a tensor may be made on another device than the host, since the program says so; `torch.LongTensor` names its own."""
    return name == "torch.Tensor" and "device" not in args.keywords and values.sets_type


def _returned_by(values: Evaluator, function: Function, args: Arguments, owner: Class | None = None) -> Value:
    """What a call of the project's function gives: where its paths disagree, those that the call's flags lead to.

    A class method of a base class, called on `owner`, makes an object of that.
    """
    if (carried := _carried(values, function, args)) is not None:
        return carried
    value = _on_open_paths(values, function, args)
    if not (value and all(value.items or ())) and (tensors := _tensors_given(values, function, args)):
        return values.world.returns_of(function, tensors) or value
    if value.kind == "module" and not value.proven and (parts := _tensors_given(values, function, args, batches=True)):
        return values.world.returns_of(function, parts) or value  # `to_gpu(x)`, which others call with their model
    if value.kind == "tensor" and not value.on_cpu and (hosts := _of_host(values, function, args)):
        here = values.world.returns_of(function, hosts)
        return here if here.on_cpu else value
    sent = _tensors_given(values, function, args) if value.kind == "tensor" and value.on_cpu else ()
    if any(device == "accelerator" for _, device in sent):
        return values.world.returns_of(function, sent) or value  # `f1(out, labels)`, which others call on the host
    base = function.cls if "classmethod" in function.decorator_names else None
    if base is not None and value.class_ is base and owner not in (None, base) and value.kind in _OBJECTS:
        assert owner is not None
        return replace(values.instance(owner), certainty=value.certainty, other_kinds=value.other_kinds)
    return value


def _carried(values: Evaluator, function: Function, args: Arguments) -> Value | None:
    """A tensor of a loader behind a function that sends what it is given, whatever holds it: `to_device(images, device)`."""
    sends = carriers.carried(function)
    if sends is None or args.open:
        return None

    def passed(name: str) -> Value | None:
        return args.get(function.positions[name] - function.is_method, name)

    given, target = passed(sends.parameter), sends.target
    if not isinstance(given, Tensor) or not given.from_loader:
        return None  # of what a batch holds not all has to be tensors
    to = []
    if target is not None:
        where = passed(target.id) if isinstance(target, ast.Name) and target.id in function.positions else None
        to.append(values.world.inside(function, lambda inner: inner.value(target)) if where is None else where)
    return moves.move(given, sends.method, Arguments(to, {}))


def _on_open_paths(values: Evaluator, function: Function, args: Arguments) -> Value:
    """What a function returns, on the paths that a call's flags leave open."""
    given = choice(function, args)
    value = (values.world.returns(function, given) if given else UNKNOWN) or values.world.returns(function)
    if not any(one.kind == "loader" for one in (value, *(value.items or ()))) and not _is_one_of(value):
        return value
    # Whether it pins may hang on a flag: `pin_memory=not valid`; what a table has, on a word.
    told = literals(function, args)
    made = values.world.returns_for(function, told, given) if told else UNKNOWN
    return made if made.kind == value.kind else value


def _is_one_of(value: Value) -> bool:
    """Whether something is one of several functions, or a list of some of them."""
    one = value.element if value.kind == "list" else value
    return one is not None and one.kind == "function" and bool(one.choices)


def _tensors_given(
    values: Evaluator, function: Function, args: Arguments, *, likely_on_host: bool = False, batches: bool = False
) -> Given:
    """The parameters of a short function for which a call gives tensors; none where it is not known which ones.

    Also those that are only likely to be on the host, and what a loader gave, where that is asked for.
    """
    if args.open or not function.bindings.returned or not _is_short(function, LONG if likely_on_host else SHORT):
        return ()
    found = []
    for at, parameter in enumerate(function.parameters):
        passed = args.get(at - function.is_method, parameter.arg)
        if batches and passed is not None and passed.kind in ("tensor", "batch"):
            found.append((parameter.arg, passed.device))
            continue
        if passed is None or passed.kind != "tensor" or passed.from_loader:
            continue
        if passed.proven or (likely_on_host and passed.device == "cpu"):
            found.append((parameter.arg, passed.device))
    return tuple(found)


def _is_short(function: Function, most: int) -> bool:
    """Whether a function has few lines of code: without its documentation, comments and empty lines."""
    if function.last_line - function.first_line <= most:
        return True
    body = function.node.body
    is_documented = len(body) > 1 and ast.get_docstring(function.node, clean=False) is not None
    source = function.module.source
    start, end = source.span(body[is_documented].lineno, function.last_line)
    lines = (line.strip() for line in source.data[start:end].splitlines())
    return sum(bool(line) and not line.startswith(b"#") for line in lines) <= most


def _applied(values: Evaluator, klass: Class, args: Arguments) -> Value:
    """What `apply` of a function with a backward pass of its own gives: what its `forward` makes of the same, behind a context."""
    forward = values.world.method(klass, "forward")
    if forward is None or args.open:
        return UNKNOWN
    given = zip(forward.parameters[1:], args.positional, strict=False)
    tensors = [(one.arg, passed) for one, passed in given if passed.kind == "tensor" and passed.proven]
    value = values.world.returns_of(forward, tuple((name, one.device) for name, one in tensors))
    grad = any(one.grad for _, one in tensors)
    return replace(value, grad=value.grad or grad) if value.kind == "tensor" else value


def _of_host(values: Evaluator, function: Function, args: Arguments) -> Given:
    """The same, where all that it is given are tensors of the host, and numbers: what it calculates of these alone stays there."""
    given = _tensors_given(values, function, args, likely_on_host=True)
    if not given or any(device != "cpu" for _, device in given):
        return ()
    passed = (*args.positional, *args.keywords.values())
    numbers = [one for one in passed if one.kind == "number" and not one.other_kinds]
    return given if len(given) + len(numbers) == len(args) else ()


def _made(values: Evaluator, klass: Class, node: ast.Call, args: Arguments) -> Value:
    """An object of a class of the project, which may be a loader."""
    if values.world.is_loader(klass):
        return loader_of(values, klass, klass.full_name, node, args)
    if values.world.is_progress_bar(klass):
        return iteration(values, "tqdm", args)
    new = klass.methods.get("__new__")
    chosen = _returned_by(values, new, args) if new is not None else UNKNOWN
    if chosen.kind in _OBJECTS and klass not in chosen.classes:
        return chosen  # a factory that is written as a class
    return values.instance(klass, node)


def _method(values: Evaluator, base: Value, function: ast.Attribute, node: ast.Call, args: Arguments) -> Value:
    attr = function.attr
    if syntax.is_super(function.value) and (own := _as_base(values, attr)) is not None:
        return module_calls.module_method(own, attr, node, args) or UNKNOWN
    kind = base.kind
    if attr in ("split", "rsplit") and args.first.kind == "str":
        return sequence(STR)  # whatever it seemed to be: tensors are split by numbers
    if attr == "get_field" and not base.proven and args.first.kind == "str" and values.on_box_lists:
        return UNKNOWN if _SHAPES.search(str(args.first.const)) else tensor(base.device)
    if base.kind == "tensor":
        if not base.proven and shows_tensor(attr, node):
            # What has a method of tensors alone is one, on the paths that come here.
            base = replace(base, certainty=PROVEN, other_kinds=base.other_kinds - {"unknown"})
        lacking = [kind for kind in base.other_kinds if kind in _BUILTINS and not hasattr(_BUILTINS[kind], attr)]
        if lacking and attr not in moves.MOVES:  # something like a dictionary may be moved
            base = replace(base, other_kinds=base.other_kinds.difference(lacking))
        return calls.tensor_method(base, attr, node, args)
    if base.kind == "batch":
        made = operations.batch_method(base, attr, args)
        return _with_left(values, function.value, made) if made.kind == "batch" and attr in moves.MOVES else made
    if base.kind == "module":
        value = module_calls.module_method(base, attr, node, args)
        if attr in ("items", "values") and (base.entries is not None or base.class_name == "torch.nn.ModuleDict"):
            each = base.element or ModuleValue(LIKELY)
            return sequence(each if attr == "values" else Tuple(items=(STR, each)))
        if value is not None and not (base.class_ and values.world.method(base.class_, attr)):
            return value
        if attr == "forward":
            return _of_value(values, base, node, args, function)
        if attr == "loader" and base.class_name in table.WALKERS:
            return loader_of(values, None, "torch.utils.data.DataLoader", node, args)
    binding = values.reach.get(function)
    callee = values.bound(binding) if binding is not None else attribute_of(values, base, function)
    if callee.kind == "function" and callee.function is None and base.class_ is None and base.classes:
        return join_all([_method(values, one, function, node, args) for one in each_class(base)])
    if callee.kind in ("function", "module", "class") or (callee.kind == "name" and callee.choices):
        return _of_value(values, callee, node, args, function)
    if attr == "apply" and base.class_ is not None and values.world.is_autograd_function(base.class_):
        return _applied(values, base.class_, args)
    if kind == "accelerator":
        return operations.accelerator_method(attr, args)
    if kind == "distribution":
        return tensor(base.device, grad=True) if attr in table.DISTRIBUTION_TENSORS else UNKNOWN
    if kind == "dict" and not base.proven and attr in moves.MOVES:
        return _unknown_method(values, UNKNOWN, attr, callee, node, args)  # no dictionary, but something like one
    if kind == "list" and attr in NEXT:
        return element(values, base, None)  # `pairs = enumerate(loader)`, of which one is taken on each step
    if kind in ("dict", "list", "tuple", "str"):
        return operations.container_method(base, attr, args)
    if kind == "ndarray":
        if attr == "tolist":
            return sequence(NUMBER)
        one = attr == "item" or (attr in numpy_calls.NUMPY_REDUCES and not len(args) and not args.open)
        return NUMBER if one else NDARRAY
    if kind == "instance" and (picture := picture_calls.picture_method(base, attr)):
        return picture
    if kind == "scaler" and attr == "scale":
        return args.first if args.first.kind == "tensor" else LIKELY_TENSOR
    if kind == "loader" and attr in NEXT:
        return element(values, base, None)
    if base.kind == "loader" and attr == "__iter__":
        return replace(base, begun=True)
    if kind in ("loader", "optimizer", "scheduler", "scaler"):
        return UNKNOWN
    if attr == "_asdict" and base.kind == "tuple" and base.entries is not None:
        return Dict(entries=base.entries)
    if attr == "_asdict" and kind == "instance" and not callee:
        return base  # its fields, by their names
    if kind == "instance" and attr in moves.MOVES and not callee and _is_metric(values, base):
        return base
    if _of_distribution(values, base, attr):
        return tensor(base.device, grad=True)
    if base.kind == "module" and not callee and base.of_any_class:
        methods = [method for method in values.world.of_modules(attr) if not method.is_abstract]
        if methods and (value := join_all(map(values.world.returns, methods))):
            return value
    return _unknown_method(values, base, attr, callee, node, args)


def _as_base(values: Evaluator, attr: str) -> ModuleValue | None:
    """The module of which `super().to(device)` is a method of nn.Module; None where a base in the project has one of its own."""
    method = values.function
    klass = method.cls
    if klass is None or attr not in (*moves.MOVES, *module_calls.GIVE_MODULE) or not values.world.is_module(klass):
        return None
    own = values.parameter(method.own_name) if method.own_name else UNKNOWN
    inherits = any(attr in base.methods for base in values.world.ancestry(klass) if base is not klass)
    return own if isinstance(own, ModuleValue) and not inherits else None


def _with_left(values: Evaluator, owner: ast.expr, moved: Batch) -> Batch:
    """A batch that was moved; of a parameter that is annotated with a class the fields stay on the host that its own `to` leaves there.

    So do those of the class that the loader's collate function makes.
    """
    parameter = values.parameters.get(owner.id) if isinstance(owner, ast.Name) and owner not in values.reach else None
    annotation = parameter.annotation if parameter is not None else None
    klass = promised(values, annotation).class_ if annotation is not None else None
    return batches.with_left(moved, left_on_host.left_fields(klass) if klass is not None else moved.left)


def _of_distribution(values: Evaluator, base: Value, attr: str) -> bool:
    """Whether something is what the objects of a project's distribution have of torch's: `dist.log_prob(action)`."""
    known = base.kind == "instance" and attr in table.DISTRIBUTION_TENSORS
    return known and base.class_ is not None and values.world.is_distribution(base.class_)


def _unknown_method(values: Evaluator, base: Value, attr: str, callee: Value, node: ast.Call, args: Arguments) -> Value:
    if attr in ("detach", "unsqueeze", "masked_fill", "log_softmax") and len(args) <= 2 and not base:
        return calls.tensor_method(tensor(base.device, grad=True), attr, node, args)
    if not base and len(args) == _OF_DISTRIBUTIONS.get(attr):
        return tensor(grad=True, certainty=LIKELY)
    if attr in ("view", "long") and not base and shows_tensor(attr, node):
        return calls.tensor_method(tensor(base.device), attr, node, args)
    if not base and used_as_tensor.gives_tensor(attr, node):
        owner = used_as_tensor.cast_from(node)
        if owner is None or not values.expr(owner):  # `this.float().sum()` calls a method of the project
            return calls.tensor_method(tensor(base.device), attr, node, args)
    if attr == "item" and not len(args):
        return NUMBER
    if attr == "astype" and not base:
        return NDARRAY
    if attr in ("item", "numpy", "tolist", "size", "dim", "numel"):
        return calls.tensor_method(LIKELY_TENSOR, attr, node, args)
    if attr in moves.SENDING and not base and "non_blocking" in args.keywords:
        return calls.tensor_method(LIKELY_TENSOR, attr, node, args)  # nobody copies a model so
    if attr in ("to", "cuda", "cpu") and not base:
        key = key_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if key is not None and key in values.bindings.sliced:
            # What is moved and has rows and columns is a tensor.
            return moves.move(TENSOR, attr, args)
        return Unknown(device=moves.move(LIKELY_TENSOR, attr, args).device)
    if takes_whole_step(values.function, attr, base):
        return tensor("accelerator", scalar=True)
    if common_names.MODEL_NAME.search(attr):
        return module_calls.called_by_name(attr)
    if module_calls.is_loss(attr, args):
        return module_calls.likely_loss(args)
    if attr == "setup_dataloaders" or (attr == "prepare" and len(args.positional) > 1):
        return operations.accelerator_method(attr, args)
    if attr in CASTS and not base and base.device:
        return base  # a tensor or a module, which stays where it is
    if attr in _OF_MOVED and not base and not callee and (base.device or _is_moved(values, node.func)):
        return calls.tensor_method(tensor(base.device), attr, node, args)
    if attr == "compute" and not len(args) and not base and base.device == "accelerator":
        return tensor("accelerator", certainty=LIKELY)  # a metric of torchmetrics, which was moved there
    if attr == "state_dict":
        return Dict(LIKELY)
    if attr == "parameters" and not len(args):
        return module_calls.PARAMETERS
    return UNKNOWN


def _is_metric(values: Evaluator, base: Value) -> bool:
    """Whether something is one of torchmetrics' `Metric`, which stays what it is where it is moved; what else a library moves may be a model."""
    line = values.world.ancestry(base.class_) if base.class_ is not None else ()
    return any(names.last(one) == "Metric" for klass in line for one in klass.bases)


def _is_moved(values: Evaluator, method: ast.expr) -> bool:
    """`label.max` behind `label = batch["label"].to(device)`: a method of what was sent to a device, whatever that is."""
    owner = method.value if isinstance(method, ast.Attribute) else method
    binding = values.reach.get(owner)
    made = binding.node if isinstance(binding, Assigned) else owner
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute) or made.func.attr != "to":
        return False
    target = argument_of(made, "device", 0) if len(made.args) < 2 else None
    return target is not None and values.expr(target).kind == "device"


def _of_value(values: Evaluator, callee: Value, node: ast.Call, args: Arguments, function: ast.expr) -> Value:
    """What calling a value gives: a module's forward, a function's result, an instance of a class."""
    if callee.kind in ("function", "name") and callee.choices:
        return join_all([_of_value(values, one, node, args, function) for one in callee.choices])
    if isinstance(callee.made_by, ast.Lambda):
        return _of_lambda(values, callee.made_by, args)
    if callee.kind == "class" and callee.entries is not None:
        return operations.named_tuple(list(callee.entries), args)
    if callee.kind == "function":
        if callee.function is None:
            return UNKNOWN
        method = callee.function.cls is not None and isinstance(function, ast.Attribute)
        owner = values.expr(function.value).class_ if method and isinstance(function, ast.Attribute) else None
        made = _made_for(values, callee.function, owner) if owner is not None else UNKNOWN
        return made or _result_of(values, callee.function, node, args, owner)
    if callee.kind == "class" and callee.any_class:
        return join_all([_made(values, klass, node, args) for klass in callee.any_class])
    if callee.kind == "module":
        if callee.class_ is None and callee.classes:
            return join_all([_of_value(values, one, node, args, function) for one in each_class(callee)])
        if callee.class_ is not None:
            forward = values.world.method(callee.class_, "forward")
            if forward is not None:
                value = _on_open_paths(values, forward, args)
                if value.kind == "tensor":
                    return replace(value, device=callee.device or value.device, grad=True)
                if value.kind in ("tuple", "dict"):
                    return operations.with_grad(value, callee.device)
                if value.kind == "distribution":
                    return replace(value, device=callee.device or value.device)
                if value:
                    return value
        if callee.class_name == "torch.nn.Sequential" and callee.items:
            last = callee.items[-1]
            if last.kind == "module" and callee.device:
                last = replace(last, device=callee.device)
            return _of_value(values, last, node, args, function)
        if callee.class_ is None and not callee.class_name.startswith("torch.") and callee.class_name:
            # A library's model: a tensor, or an output object whose fields are tensors.
            return Tensor(LIKELY, device=callee.device, grad=True)
        given = module_calls.module_result(callee, args)
        is_own = isinstance(function, ast.Name) and function.id not in values.parameters and not callee.device
        of_layer = is_own and given.kind == "tensor" and not given.device
        return replace(given, device=module_calls.where_given(args)) if of_layer else given
    if callee.kind == "name":
        return _by_name(values, callee.class_name, node, args.beside(callee.entries))
    if callee.kind == "instance" and callee.any_class:
        methods = [values.world.method(klass, "__call__") for klass in callee.any_class]
        known = [_result_of(values, method, node, args) for method in methods if method is not None]
        if len(known) == len(methods) and (value := join_all(known)):
            return value
    if not callee and isinstance(function, ast.Name) and (value := values.world.wrapped(values.function, function.id)):
        return value
    # `models[0](x)`, `self.losses[phase](outputs, targets)`: one of several, which have the name together.
    several = isinstance(function, ast.Subscript)
    name = names.last(function.value if isinstance(function, ast.Subscript) else function)
    if not callee and common_names.MODEL_NAME.search(name.removesuffix("s") if several else name):
        return module_calls.called_by_name(name)
    if not callee.proven and any(module_calls.is_loss(one, args) for one in (name, _said_of(function))):
        return module_calls.likely_loss(args)
    return tensor("cpu") if _is_window(values, function, args) else UNKNOWN


def _of_field(values: Evaluator, node: ast.Call) -> Value:
    """The class or object that a field of a dataclass is made of: `field(default_factory=lambda: Net)`, `field(default_factory=Options)`."""
    factory = keyword_of(node, "default_factory")
    if isinstance(factory, ast.Lambda) and not factory.args.args:
        value = values.expr(factory.body)
        return value if value.kind in _MADE_BY_FIELDS else UNKNOWN
    made = values.expr(factory) if factory is not None else UNKNOWN
    return values.instance(made.class_) if made.kind == "class" and made.class_ is not None else UNKNOWN


def _made_for(values: Evaluator, function: Function, owner: Class) -> Value:
    """What a short method of a base class gives on an object of a class that says what it calls: `return self._target(self)`."""
    called = kept(function, "own calls", lambda: _own_calls(function))
    for klass in values.world.ancestry(owner) if called else ():
        if klass is function.cls:
            break
        if not called.isdisjoint(klass.assigned):
            return values.world.returns_on(function, owner)
    return UNKNOWN


def _own_calls(function: Function) -> frozenset[str]:
    """The attributes of its object that a short method calls."""
    if len(function.telling) > _SHORT:
        return frozenset()
    own = (syntax.own_attribute(function, call.func) for call in function.flow.calls)
    return frozenset(name for name in own if name is not None)


def _is_window(values: Evaluator, function: ast.expr, args: Arguments) -> bool:
    """`getattr(torch, window)(win_length)`: what torch makes of a number alone is a tensor."""
    match function:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, _]):
            given = args.positional
            only = len(given) == 1 and not args.keywords and not args.open
            return only and given[0].kind == "number" and values.dotted(owner) == "torch"
    return False


def _said_of(function: ast.expr) -> str:
    """What else tells of something that is called: `l1_loss` of `metrics["l1_loss"](x, y)`, `loss` of `ChamferLoss()(x, y)`."""
    if isinstance(function, ast.Subscript):
        return string(function.slice) or ""
    made = names.last(function.func) if isinstance(function, ast.Call) else ""
    return "loss" if made.endswith("Loss") else made


def _encodes(call: ast.Call) -> bool:
    """Whether a tokenizer or processor of transformers is called for tensors, by what it alone is given."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = given.get("return_tensors")
    return isinstance(kind, ast.Constant) and kind.value == "pt" and "device" not in given
