"""The shape of a rule's fault, written once as Python with holes, and read at three speeds.

    $x.clone(...).detach()
    torch.distributed.all_reduce(..., async_op=True);
    $sum = torch.cat([$sum, ...], ...)
    for $_ in $parameters: ...

- `$x` is any expression (or a name behind a dot, `def` or `class`) and is caught as `x`; written twice, both are written alike.
  `$_` is any and is not caught.
- `torch.cat` is whatever the imports of the place call `torch.cat`, `float` the builtin; `.clone` is an attribute of that name.
- `...` among arguments or elements stands for all further ones; without it there are no others. Keywords stand in any order.
- `f(name := $x)` is an argument at this place, or by this keyword.
- `($x := f(...))` catches what it holds.
- `f(...);` is a statement of its own. The body of a compound statement is free, and so are the parameters of a `def`.
- `for` is no `async for`, which goes through none of what a `for` can; `with` and `def` are those that are `async` as well.

A rule is shown one place of the shape: the outermost thing with a name outside of brackets (`.detach()`, `torch.cat()`), or
what is called `$here`; where nothing has a name, the whole.

`words` has the word of that place without parsing the pattern, for the sieve; `shape` parses it; `match` holds it against
nodes, which `on_ast` and `on_libcst` read alike. Neither imports libcst.
"""
