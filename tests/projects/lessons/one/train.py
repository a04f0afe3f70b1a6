import torch
from helpers import report, update

model = torch.nn.Linear(3, 1).cuda()
optimizer = torch.optim.LBFGS(model.parameters())
for batch in torch.rand(100, 3).cuda():

    def closure():
        optimizer.zero_grad()
        loss = model(batch).sum()
        loss.backward()
        update(loss)
        return loss

    optimizer.step(closure)
report(model(torch.rand(3).cuda()).sum())
