from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule("TL101", on={".item()", "float()", "int()", "bool()", "round()"}, scope="hot", fix="unsafe", impact="high", category="sync", principle=("async",), confirmed_by=("sync",))
def item_in_hot_loop(site: Site) -> Iterator[Finding]:
    """Draft."""
    if site.name == ".item()":
        if site.call.args:
            return
        value = site.receiver
    else:
        value = site.value(site.call.args[0]) if site.call.args else site.value(site.call)
    if not (value.kind == "tensor") or value.on_cpu or not site.accelerator:
        return
    if site.hot or site.warm:
        yield site.finding(f"`{site.short()}` waits", severity=None if site.hot else "info", related=site.why_hot())
