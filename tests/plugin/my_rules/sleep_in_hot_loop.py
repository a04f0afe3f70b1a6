from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule("MY101", shape="time.sleep(...)", scope="hot", fix="unsafe", numbers="exact", category="sync", torch=">=1.0")
def sleep_in_hot_loop(site: Site) -> Iterator[Finding]:
    """A training step sleeps.

    ## What it does

    Finds `time.sleep()` on every training step.

    ## Bad

    ```python
    import time

    for x in batches:
        model(x).sum().backward()
        optimizer.step()
        time.sleep(0.1)  # MY101
    ```

    ## Good

    ```python
    import time

    for x in batches:
        model(x).sum().backward()
        optimizer.step()
    time.sleep(0.1)  # ok
    ```

    ## Fix safety

    `pass` stands in place of the call: what waited for it no longer does.
    """
    if site.hot:
        yield site.finding(f"`{site.short()}` stops every training step", related=site.why_hot())
