import torch
from helpers import report as tell
from helpers import update

model = torch.nn.Linear(3, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.rand(100, 3).cuda():
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
    tell(loss)
update(loss)
