"""Sums and means."""


def total(values):
    """The sum of the values, 0 for none."""
    return sum(values)


def mean(values):
    """The arithmetic mean. Raises ValueError for no values."""
    if not values:
        raise ValueError("mean of no values")
    return sum(values) / len(values)
