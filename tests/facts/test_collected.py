"""What an evaluation loop collects, and what is written behind it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchlint.facts import collected
from torchlint.rule.site import Site


@pytest.mark.parametrize(
    ("body", "behind", "gathered", "written"),
    [
        ("images.append(net(x).cpu())", "", False, False),
        ("preds.append(net(x).cpu().numpy())", "", False, False),
        ("preds.append(net(x).cpu())", "np.save('preds', torch.cat(preds))", False, True),
        ("preds.append(net(x).cpu())", "all = torch.cat(preds)\n    torch.save(all, 'all')", False, True),
        ("y = net(x).cpu()\n        preds.append(y)", "torch.save(preds, 'preds')", False, True),
        ("preds.append(net(x).cpu())", "", True, False),
        ("preds += [net(x).cpu()]", "", True, False),
        ("out['y_pred'].extend(net(x).cpu())", "", True, False),
        ("preds.append(net(x).cpu())", "torch.save(other, 'other')", True, False),
    ],
)
def test_what_is_collected(
    site_of: Callable[[str], Site], body: str, behind: str, gathered: bool, written: bool
) -> None:
    site = site_of(
        "net = nn.Linear(2, 2).cuda().eval()\nimages, preds, all, out, other = [], [], [], {}, {}\n"
        "def evaluate(data):\n    loader = DataLoader(data)\n"
        f"    for x in loader:\n        x = x.cuda()\n        {body}\n    {behind or 'pass'}\n    0\n"
    )
    place = site.at(site.function, site.flow.calls_named("cpu")[-1])

    assert collected.is_collected(place, place.call) is gathered
    assert collected.is_written(place) is written
