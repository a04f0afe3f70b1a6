def train_one_epoch(model, loader, optimizer, device, loss_scaler, watch):
    for x in loader:
        loss = model(x.to(device, non_blocking=True)).sum()
        loss_scaler(loss, optimizer, parameters=model.parameters())
        watch([x, loss])
        optimizer.zero_grad()
