"""An evaluation whose numbers are worked out in another file."""

import torch

import scores
import text

net = torch.nn.Linear(4, 2).cuda()
loader = torch.utils.data.DataLoader(torch.zeros(8, 4), batch_size=2, num_workers=2, pin_memory=True)


def evaluate(limit: int) -> list[torch.Tensor]:
    net.eval()
    found = []
    with torch.no_grad():
        for x in loader:
            out = net(x.cuda(non_blocking=True))
            found.append(scores.variance(out, out > 0))
            scores.check(out, limit)
            scores.keep(out)
            text.longest(x, limit)
    scores.once(torch.cat(found))
    return found


evaluate(3)
