"""What an evaluation asks of batches that are still on the host."""


def longest(values, limit):
    longest = values.sum()
    if longest > limit:
        return limit
    if (values > 0).sum() > 3 or values.cpu().max() > 4:
        return 3
    return int(longest)
