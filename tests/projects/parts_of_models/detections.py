"""A function of autograd that makes detections of what a model gives, and says nothing of where it runs."""

import torch


class Detect(torch.autograd.Function):
    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        found = []
        for c in range(1, 21):
            mask = scores[c].gt(0.01)
            picked = scores[c][mask]  # TL107
            if picked.size(0) == 0:
                continue
            rows = mask.unsqueeze(1).expand_as(boxes)
            found.append(boxes[rows].view(-1, 4).mean(0))  # TL107
            kept = boxes.clone()
            kept[rows] = 0
            found.append(kept.mean(0))
        return torch.stack(found)


class Reader:
    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return boxes[scores > 0.5]
