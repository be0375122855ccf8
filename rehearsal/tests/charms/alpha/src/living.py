"""What a long-lived worker keeps of hooks that are over."""

import gc


def frameworks(gateways: object) -> int:
    """Return how many frameworks of ops are alive in this process."""
    del gateways
    gc.collect()
    return sum(type(item).__name__.endswith("Framework") for item in gc.get_objects())
