from __future__ import annotations

from torchlint.facts import layers, syntax
from torchlint.rewrite import call_node
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    if _bias_is_read(site):
        return None
    given = site.argument("bias", layers.BIAS[site.name.removesuffix("()")])
    if given is not None:
        edit = site.tree.replace(site.cst(given), "False")
    else:
        added = site.tree.add_argument(call_node(site), "bias=False")
        if added is None:
            return None
        edit = added
    return Fix(
        "Leave the bias out",
        (edit,),
        "unsafe",
        "the state_dict loses a key, running means start without the bias, and later layers draw other random numbers",
    )


def _bias_is_read(site: Site) -> bool:
    """Whether the class reads the `bias` of its layers: of this one by name, or of all of them in a loop."""
    klass = site.function.cls
    name = syntax.own_attribute(site.function, syntax.target(site.flow, site.call))
    if klass is None or name is None:
        return False
    text = site.source.data[
        site.source.lines[klass.node.lineno - 1] : site.source.lines[(klass.node.end_lineno or 1) - 1]
    ]
    return f".{name}.bias".encode() in text
