def clip(accelerator, model):
    norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
    return norm.item()  # TL101


def track(accelerator, loss, step):
    if step % 100 != 0:
        return
    accelerator.log({"loss": loss.detach().item()}, step=step)
