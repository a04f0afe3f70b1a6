"""What needs a value on the host, or sends it back to the device."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ..system.regex import regex
from . import common_names, names, syntax
from .collected import is_checkpoint
from .consumers import BINDS, GOES_THROUGH, adds_up, takes
from .handed_on import Words, handed_on, hands_on, with_keywords
from .module import Function
from .moves import SENDING
from .nodes import assigned_in, keyword_of, names_in, root_of, steps
from .place import Place
from .sending import goes_to_device
from .uses import only_read, read_beside, readers

_WRITES = frozenset(
    ("save", "savez", "savez_compressed", "savetxt", "dump", "imwrite", "imsave", "save_image", "write_video")
)
_PICTURES = frozenset(("fromarray", "to_pil_image", "numpy_to_pil"))
_SHOWS = _PICTURES | {"imshow", "plot", "scatter", "hist"}
_SHOWS |= {"pcolor", "pcolormesh", "contour", "contourf", "tricontourf", "quiver", "plot_surface"}
_PRIORITIES = ("update_priorities", "update_priority")
"""What a replay buffer is told by how often to draw what it holds."""
_ASYNC = "step_async"
"""What environments alone have, those that run many in processes of their own: the result comes from `step_wait()`."""
_NEEDS_HOST = (
    _WRITES
    | _SHOWS
    | {"step", _ASYNC, "decode", "batch_decode", "pack_padded_sequence", "send", "put", "dumps", "loads"}
)
_NEEDS_HOST |= {*_PRIORITIES}
_NEEDS_HOST |= {"linear_sum_assignment"}  # SciPy's, which torch has not
_NEEDS_HOST |= {"BytesIO"}  # bytes that are read as a file, or unpickled
_NEEDS_HOST |= {"convert_to_tensor"}  # TensorFlow's, which takes arrays
_NEEDS_HOST |= {"setInput", "copy_from_cpu"}  # of OpenCV's networks and Paddle's, which take arrays
_SEARCHES = frozenset(("search", "search_knn"))
"""What an index of FAISS is asked by, which takes arrays."""
_INFERS = frozenset(("run",))
"""What a session of ONNX Runtime is run by, which takes arrays."""
_TO_PROCESSES = frozenset("map map_async imap imap_unordered starmap starmap_async apply_async submit".split())
"""What hands arrays to other processes, as methods of a pool; `map(float, x)` is none."""
_POOLS = regex(rb"\bPool\(|\b(?:Process|Thread)PoolExecutor\b")
_OF_ARRAYS = frozenset(
    "pystoi pesq srmrpy pyworld museval mir_eval pycocotools pydensecrf lap parselmouth librosa mcubes trimesh open3d casadi".split()
)
"""Libraries that work on arrays of NumPy alone, mostly for what torch has not."""
_ARRAYS = regex(rb"\b(?:%s)\b" % b"|".join(sorted(name.encode() for name in _OF_ARRAYS)))
_PLOTS = regex(rb"matplotlib|pyplot|\bplt\b|\baxe?s?\b|\bfig\b|seaborn|plotly")
"""What a file holds that draws charts: elsewhere `scatter` is the method of a tensor, which takes an index."""
_RECORDS = regex(rb"wavfile|soundfile|VideoWriter")
"""What a file holds that writes sounds or films: there `write` takes an array."""
_PREPARES = "return_tensors"
"""What feature extractors and processors of transformers are asked by which tensors to give: they calculate with NumPy."""
_BACK = frozenset(("from_numpy", "as_tensor", "tensor", "FloatTensor", "asarray"))
_STEP = ("step", _ASYNC)
_MOST_CALLERS = 8
_NAMES = 3
"""How many names of a value are followed, each read by the next alone."""
_DEEP = 2
_ACTION = regex(r"(?:^|_)actions?$")
_ACTS = regex(r"^_*(?:act(?:_[a-z_]+)?|(?:select|get|choose|pick|sample|take|compute|predict)_(?:[a-z]+_)*actions?)$")
"""What functions are called that choose an action, for whoever plays: `select_action`, `_act_epsilon_greedy`."""


def host_needs(place: Place, node: ast.expr, depth: int = _DEEP) -> bool:
    """Whether the value goes to something that works on the host: an environment, a file, a picture, a decoder.

    So does what a function gives back to callers that all hand it to such, through `depth` of them.

    Numbers for a file or a chart behind the loop can be gathered on the device. So does what is put into a list that is
    made as often, and read from there: `parts = []`, `parts.append(x.cpu().numpy())`, `plt.imshow(np.hstack(parts))`.
    """
    while not _is_needed(place, node, depth):
        call = _next_link(place, node)
        if call is None:
            return False
        place, node = place.at(place.function, call), call
    return True


def _is_needed(place: Place, node: ast.expr, depth: int) -> bool:
    """The same of a value that has no other name, and of the list that it is put into."""
    return _needs(place, node, depth) or any(
        _needs(place.at(place.function, read), read, depth) for read in _read_in_list(place)
    )


def _next_link(place: Place, node: ast.expr) -> ast.Call | None:
    """The method that is called of a value by its name, which nothing else reads: `array = out.numpy()` of `out = y.cpu()`."""
    made = place.statement
    if not isinstance(made, ast.Assign) or node not in steps(made.value):
        return None
    read = read_beside(place.function, made)
    method = place.flow.parents.get(read) if read is not None else None
    return syntax.called(place.flow, method) if isinstance(method, ast.Attribute) else None


def _read_in_list(place: Place) -> list[ast.Name]:
    """Where a list is read that the place's statement puts the value into, and that is made as often as that runs."""
    flow, statement = place.flow, place.statement
    call = statement.value if isinstance(statement, ast.Expr) else None
    grown = syntax.appended_to(flow, call) if isinstance(call, ast.Call) else None
    made = flow.stores.get(grown.id, ()) if grown is not None else ()
    around = flow.loops(statement)
    if grown is None or not any(
        isinstance(syntax.given_to_target(flow, store), ast.List) and flow.loops(store) == around for store in made
    ):
        return []
    reads = [read for read in flow.loads[grown.id] if read.lineno > statement.lineno]
    return [read for read in reads if flow.loops(read)[-len(around) :] == around] if around else reads


def _needs(place: Place, node: ast.expr, depth: int) -> bool:
    """Whether what becomes of a value in its own statement, or of the name that it has there, is done on the host."""
    gathered = _is_number(place, node) and not _is_written_at_once(place, node)
    words = _NEEDS_HOST - _WRITES - _SHOWS if gathered else _words(place)
    if place.consumed_by(words, node) and _may_take(place, node, words, frozenset()):
        return True
    if _is_action(place, node) or _is_told_environment(place) or _is_drawn_by(place) or _is_given_to_buffer(place):
        return True
    if _is_for_taker(place, node, gathered) or _is_sampled_from(place) or _weighs_actions(place):
        return True
    handed = place.once(("handed to the host", place.flow, gathered), lambda: _handed(place, gathered))
    if handed and place.consumed_by((), node, handed) and _may_take(place, node, frozenset(), handed):
        return True
    return _is_needed_by_callers(place, depth)


def _words(place: Place) -> frozenset[str]:
    """What calls are called in a function that need on the host what they are given."""
    source = place.function.module.source
    words = _NEEDS_HOST | {"write"} if source.holds(_RECORDS) else _NEEDS_HOST
    if source.holds(b"faiss"):
        words |= _SEARCHES
    if source.holds(_POOLS):
        words |= _called_of_others(place, _TO_PROCESSES)
    words |= _of_libraries(place)
    if _saves_models_alone(place):
        words -= {"save"}
    if not source.holds(_PLOTS):
        words -= {"scatter"}
    return words


def _of_libraries(place: Place) -> frozenset[str]:
    """What calls of libraries are called in a function that calculate on the host, on arrays."""
    source = place.function.module.source
    words = _INFERS if source.holds(b"onnxruntime") else frozenset()
    if source.holds(_ARRAYS):
        words |= {names.last(call.func) for call in place.flow.calls if _is_of_arrays(place, call)}
    if source.holds(_PREPARES.encode()):
        words |= {names.last(call.func) for call in place.flow.calls if _prepares(call)}
    return words


def _prepares(call: ast.Call) -> bool:
    """`extractor(wave, sampling_rate=16000, return_tensors="pt")`; what pads gives tensors as it was given them."""
    return keyword_of(call, _PREPARES) is not None and names.last(call.func) != "pad"


def _called_of_others(place: Place, words: frozenset[str]) -> set[str]:
    """The words by which a function calls methods, and nothing else: `pool.map(score, rows)` without a `map(float, x)`."""
    called = {word: place.flow.calls_named(word) for word in words}
    return {
        word for word, calls in called.items() if calls and all(isinstance(one.func, ast.Attribute) for one in calls)
    }


def _is_of_arrays(place: Place, call: ast.Call) -> bool:
    """Whether a call is one of a library that takes arrays alone."""
    return (place.resolve(call.func) or "").partition(".")[0] in _OF_ARRAYS


def _saves_models_alone(place: Place) -> bool:
    """Whether what the function saves are models, perhaps with numbers that tell how good they are: `torch.save({"acc": acc, "net": net.state_dict()}, path)`."""
    saves = place.flow.calls_named("save")
    return bool(saves) and place.once(
        ("saves models", place.flow), lambda: all(is_checkpoint(place, call) for call in saves)
    )


def _is_written_at_once(place: Place, copy: ast.expr) -> bool:
    """Whether a copy, or the name that it is assigned to, stands in a call that writes: `np.save(path, loss.cpu())`."""
    reads = (load for name in assigned_in(place.statement) for load in place.flow.loads.get(name, ()))
    inside = (load for load in reads if place.flow.loops(load)[:1] == place.flow.loops(copy)[:1])
    return any(
        isinstance(call, ast.Call) and names.last(call.func) in _WRITES | _SHOWS and not _keeps(place, call)
        for node in (copy, *inside)
        for call in place.flow.expressions(node)
    )


def _keeps(place: Place, call: ast.Call) -> bool:
    """Whether what is called so is the project's own, and writes and shows nothing there and then: `plot` that puts numbers into a list."""
    targets = place.project.targets(place.function, call)
    return bool(targets) and not any(
        names.last(one.func) in _WRITES | _SHOWS or place.project.targets(target, one)
        for target in targets
        for one in target.flow.calls
    )


def _is_number(place: Place, copy: ast.expr) -> bool:
    """Whether a copy is one of a tensor with a single value: `loss.data.cpu()`."""
    owner = copy.func.value if isinstance(copy, ast.Call) and isinstance(copy.func, ast.Attribute) else copy
    value = place.value(owner)
    return value.is_tensor and value.scalar


def _may_take(place: Place, node: ast.expr, words: frozenset[str], handed: frozenset[ast.AST]) -> bool:
    """Whether what needs the host takes a value, by the bindings of names: what an assignment overwrites is read by nobody behind it.

    What is sent to the device again is needed there.
    """
    function = place.function
    flow, todo, seen = function.flow, [node], set[ast.AST]()
    while todo:
        for child, parent in flow.takers(todo.pop()):
            if isinstance(child, ast.Attribute) and child.attr in SENDING and _sends(place, child):
                break
            through = isinstance(parent, GOES_THROUGH) and child is parent.iter
            if through or takes(parent, child, words) or child in handed:
                return True
            if not isinstance(parent, BINDS) or child is not parent.value or adds_up(parent) or parent in seen:
                continue
            target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
            if not isinstance(target, ast.Name) or not isinstance(parent, ast.Assign):
                return True
            seen.add(parent)
            todo += (*readers(function, target.id, parent.value), *_read_next_time(function, target.id, parent))
    return False


def _sends(place: Place, method: ast.Attribute) -> bool:
    """Whether a `.to` or `.cuda` is called, and sends to the device."""
    call = syntax.called(place.flow, method)
    return call is not None and goes_to_device(place, call)


def _read_next_time(function: Function, name: str, made: ast.Assign) -> list[ast.Name]:
    """The reads of a name in front of an assignment, in the loops around it: on the next iteration they may see it."""
    around = function.flow.loops(made)
    start = around[-1].lineno if around else made.lineno
    return [load for load in function.flow.loads.get(name, ()) if start <= load.lineno < made.lineno]


def _is_told_environment(place: Place) -> bool:
    """`action = policy(obs)["action"].cpu()` beside `env.exec_actions(poses)`: an environment has other names for a step."""
    if not any(_ACTION.search(name) for name in assigned_in(place.statement)):
        return False
    return any(
        isinstance(call.func, ast.Attribute) and common_names.ENVIRONMENT_NAME.search(names.last(call.func.value))
        for call in place.flow.calls
    )


def for_environment(place: Place, node: ast.expr) -> bool:
    """Whether the value goes to `env.step(action)`, which needs it on the host."""
    return _is_given_to_environment(place, node) or _is_action(place, node)


def chooses_action(place: Place) -> bool:
    """Whether a function that chooses an action by its name gives the value to who plays: `def select_action(obs): ...; return action`."""
    return _ACTS.match(place.function.name) is not None and _is_given_back(place)


def _is_given_to_environment(place: Place, node: ast.expr | None = None) -> bool:
    """Whether a step of an environment takes the value, here or in a function of the file that it is given to."""
    if _steps_environment(place) and place.consumed_by(_STEP, node):
        return True
    handed = place.once(
        ("handed to an environment", place.flow),
        lambda: with_keywords(place.flow, (given for _, given in handed_on(place, _stepping))),
    )
    return bool(handed) and place.consumed_by((), node, handed)


def _stepping(taker: Place) -> tuple[str, ...]:
    return _STEP if _steps_environment(taker) else ()


def _is_action(place: Place, node: ast.expr) -> bool:
    """Whether a function returns the value to who gives it to an environment: `action = agent.act(x)`, `env.step(action)`."""
    if chooses_action(place):
        return True
    if not _is_given_back(place):
        return False
    callers = itertools.islice(place.callers(place.function), _MOST_CALLERS)
    return any(_is_given_to_environment(place.at(site.function, site.call)) for site in callers)


def _is_given_back(place: Place) -> bool:
    """Whether the statement returns what it makes, or assigns it to a name that one returns, by itself, as another one, or as its best: `np.argmax(q)`."""
    statement = place.statement
    users = [place.flow.statement(read) for read in _reads_of(place, statement)]
    again = (
        one for one in users if isinstance(one, ast.Assign) and (isinstance(one.value, ast.Name) or _is_best(one.value))
    )
    users += [place.flow.statement(read) for one in again for read in _reads_of(place, one)]
    return isinstance(statement, ast.Return) or any(isinstance(one, ast.Return) for one in users)


def _is_best(value: ast.expr) -> bool:
    """`np.argmax(q)`, `int(q.argmax())`: where the largest value stands."""
    return isinstance(value, ast.Call) and (
        names.last(value.func) == "argmax" or any(_is_best(argument) for argument in value.args)
    )


def _reads_of(place: Place, made: ast.stmt) -> Iterator[ast.Name]:
    """The reads that may find what an assignment gives its names; every one of a name of which it changes a part."""
    for name in assigned_in(made):
        if isinstance(made, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in made.targets):
            yield from readers(place.function, name, made.value)
        else:
            yield from place.flow.loads.get(name, ())


def _is_needed_by_callers(place: Place, depth: int) -> bool:
    """Whether a function returns the value to callers that all need it on the host: `cv2.imwrite(path, net.paint(image))`."""
    if depth == 0 or not _is_given_back(place) or not _is_given_itself(place):
        return False
    sites = list(itertools.islice(place.callers(place.function), _MOST_CALLERS + 1))
    return 0 < len(sites) <= _MOST_CALLERS and all(
        host_needs(place.at(one.function, one.call), one.call, depth - 1) for one in sites
    )


def _is_given_itself(place: Place) -> bool:
    """Whether what is returned is the value, or what a method of it gives; not something that is calculated with it."""
    made = assigned_in(place.statement)
    returned = [node.value for node in place.flow.returns]
    roots = [root_of(one, ast.Call, ast.Attribute, ast.Subscript) for one in returned if one is not None]
    return not made or any(isinstance(root, ast.Name) and root.id in made for root in roots)


def _is_sampled_from(place: Place) -> bool:
    """Whether an action is drawn of the value on the host, and returned as a number: `odds = policy(state).cpu(); action = Categorical(odds).sample(); return action.item()`."""
    flow, made = place.flow, assigned_in(place.statement)
    drawn = [call for call in flow.calls_named("sample") if not call.args]
    reads = place.once(("returned numbers", place.function), lambda: _returned_numbers(place.function)) if drawn else []
    if not made or not reads:
        return False
    for statement in flow.nodes:
        if isinstance(statement, ast.Assign) and not made.isdisjoint(names_in(statement.value)):
            made |= assigned_in(statement)
    return all(any(not made.isdisjoint(names_in(one)) for one in calls) for calls in (drawn, reads))


def _weighs_actions(place: Place) -> bool:
    """Whether an action is drawn by the value on the host: `action = np.random.choice(n, p=probs)` behind `probs = policy(x).cpu().numpy()`."""
    made = assigned_in(place.statement)
    weights = (
        keyword_of(call, "p", "weights") for name in ("choice", "choices") for call in place.flow.calls_named(name)
    )
    drawn = [one for one in weights if isinstance(one, ast.Name) and one.id in made]
    return any(_ACTION.search(name) for one in drawn for name in assigned_in(place.flow.statement(one)))


def _returned_numbers(function: Function) -> list[ast.Call]:
    """The reads in what a function returns: `return action.item()`."""
    returned = function.flow.returned
    return [call for value in returned for call in ast.walk(value) if isinstance(call, ast.Call) and _is_item(call)]


def _is_item(node: ast.AST) -> bool:
    """`action.item()`"""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"


def _is_for_taker(place: Place, node: ast.expr, gathered: bool) -> bool:
    """Whether the value goes to a function of the project that hands it to what works on the host: `def quality(wave, rate): return librosa.resample(wave, ...)`."""
    return _all_take(place, node, _taking(gathered))


def _handed(place: Place, gathered: bool) -> frozenset[ast.AST]:
    """What a function gives to functions of its file that hand it to what works on the host."""
    return with_keywords(place.flow, (given for _, given in handed_on(place, _taking(gathered))))


def _taking(gathered: bool) -> Words:
    """What calls need on the host what they are given, numbers that could be `gathered` or all else."""
    return lambda taker: _words(taker) - (_WRITES | _SHOWS if gathered else frozenset())


def _all_take(place: Place, node: ast.expr, words: Words) -> bool:
    """Whether the functions of the project that a value is given to, by a name of its own or none, all hand it to calls of the words for each."""
    taker, given = _taker(place.function, node)
    if taker is None:
        return False
    targets = place.project.targets(place.function, taker)
    return bool(targets) and all(hands_on(place.at(target, target.node), taker, given, words) for target in targets)


def _taker(function: Function, node: ast.expr, renamed: int = _NAMES) -> tuple[ast.Call | None, ast.AST]:
    """The call that takes a value, and what it is given: the value, or the last of so many names that nothing else reads."""
    for child, parent in function.flow.takers(node):
        if isinstance(parent, ast.Call) and child is not parent.func:
            return parent, child.value if isinstance(child, ast.keyword) else child
        if isinstance(parent, ast.Assign) and child is parent.value:
            read = only_read(function, parent.value) if renamed else None
            return _taker(function, read, renamed - 1) if read is not None else (None, node)
    return None, node


def _is_given_to_buffer(place: Place) -> bool:
    """Whether a function returns the value to callers that all tell a replay buffer by it what to draw, each time: `_, priorities = self.update(batch)`."""
    if not _is_given_back(place):
        return False
    sites = list(itertools.islice(place.callers(place.function), _MOST_CALLERS + 1))
    own = [one for one in sites if one.function.module is place.function.module]
    told = own or sites  # methods of its base may call it as well
    return 0 < len(told) <= _MOST_CALLERS and all(_tells_buffer(place.at(one.function, one.call)) for one in told)


def _tells_buffer(caller: Place) -> bool:
    """Whether a call's result goes to a replay buffer wherever it is made: behind `if self.prioritized:` it may be thrown away."""
    line = caller.statement.lineno
    told = [call for word in _PRIORITIES for call in caller.flow.calls_named(word) if call.lineno >= line]
    if not told or not caller.consumed_by(_PRIORITIES):
        return False
    since = {guard.node for guard in caller.flow.guards(caller.target)}
    first = min(told, key=lambda call: call.lineno)
    return all(guard.node in since for guard in caller.flow.guards(first))


def _is_drawn_by(place: Place) -> bool:
    """Whether the value is written into an array of an object that draws samples by it: `buffer.priority[index] = error.cpu().numpy()`."""
    made = place.statement
    if not isinstance(made, ast.Assign):
        return False
    target, statements = made.targets[0], [made]
    if isinstance(target, ast.Name):
        reads = map(place.flow.statement, readers(place.function, target.id, made.value))
        statements = [one for one in reads if isinstance(one, ast.Assign)]
    written = (one.targets[0] for one in statements)
    return any(_draws_by(place, one.value) for one in written if isinstance(one, ast.Subscript))


def _draws_by(place: Place, array: ast.expr) -> bool:
    """Whether an expression is an array that its object has, and reads where it draws by weights."""
    if not isinstance(array, ast.Attribute) or place.value(array).kind != "ndarray":
        return False
    klass = place.value(array.value).class_
    ancestry = place.project.ancestry(klass) if klass is not None else ()
    methods = dict.fromkeys(method for one in ancestry for method, _ in one.uses.get(array.attr, ()))
    return any(_draws_from(method, array.attr) for method in methods)


def _draws_from(method: Function, name: str) -> bool:
    """Whether a method draws on the host by `self.name`: `np.random.choice(n, size, p=p)`, `random.choices(rows, weights=p)`."""
    weights = (
        keyword_of(call, given)
        for drawing, given in (("choice", "p"), ("choices", "weights"))
        for call in method.flow.calls_named(drawing)
    )
    return any(_reads_own(method, part, name) for one in weights if one is not None for part in _made_of(method, one))


def _made_of(method: Function, node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what the names in it are given."""
    yield node
    for name in sorted(names_in(node)):
        stores = method.flow.stores.get(name, ())
        yield from filter(None, (syntax.given_to_target(method.flow, store) for store in stores))


def _reads_own(method: Function, node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.expr) and syntax.own_attribute(method, part) == name for part in ast.walk(node))


def _steps_environment(place: Place) -> bool:
    """Whether a function takes a step of an environment."""
    function = place.function
    return place.once(
        ("steps environment", function),
        lambda: (
            bool(function.flow.calls_named(_ASYNC))
            or any(_is_of_environment(function, call) for call in function.flow.calls_named("step"))
        ),
    )


def _is_of_environment(function: Function, call: ast.Call) -> bool:
    """Whether a step is one of an environment: its result is used, unlike that of `scheduler.step(loss)` or `stopping.step(loss)`."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = names.last(call.func.value)
    if common_names.ENVIRONMENT_NAME.search(owner):
        return True
    is_used = not isinstance(function.flow.parents.get(call), ast.Expr)
    return is_used and "sched" not in owner.lower() and not common_names.OPTIMIZER_NAME.search(owner)


def comes_back(place: Place, call: ast.Call) -> bool:
    """Whether what a copy gives is sent to the device again: `torch.tensor(scores)` of it stays where it is."""
    taken = place.consumed_by(_BACK, call) and any(_sends_back(place, made) for made in _made_again(place, call))
    return taken or _is_sent(place, call)


def _is_sent(place: Place, call: ast.Call) -> bool:
    """Whether a method is called of what a call gives that sends it: `x.cpu().float().to(device)`."""
    chain = (a.func for a in place.flow.expressions(call) if isinstance(a, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in SENDING and _receives(func, call) for func in chain)


def _made_again(place: Place, call: ast.Call) -> list[ast.Call]:
    """The calls of a function that make tensors of what is on the host: of the copy, or of its name, if there are such."""
    found = [made for name in sorted(_BACK) for made in place.flow.calls_named(name)]
    bound = set(assigned_in(place.statement))
    of_it = [
        made
        for made in found
        if any(part is call or (isinstance(part, ast.Name) and part.id in bound) for part in ast.walk(made))
    ]
    return of_it or found


def _sends_back(place: Place, made: ast.Call) -> bool:
    """Whether a tensor is made on the device, or sent there, or given to who may."""
    there = place.at(place.function, made)
    sent = _is_sent(there, made) or there.consumed_by(SENDING, made)
    return sent or not place.value(made).on_cpu or (_is_given_back(there) and _is_given_itself(there))


def _receives(func: ast.Attribute, call: ast.Call) -> bool:
    return any(node is call for node in ast.walk(func.value))
