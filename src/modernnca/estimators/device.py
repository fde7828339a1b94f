"""The device to compute on."""

import torch


def choose_device(name: str | None) -> torch.device:
    """The device called `name`; None takes a GPU if there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name is None:
        return torch.device("cuda" if cuda else "mps" if mps else "cpu")
    kind = str(name).partition(":")[0]
    available = {"cpu": True, "cuda": cuda, "mps": mps}
    if kind not in available:
        raise ValueError(f"Unknown device {name!r}; choose one of: cpu, cuda, mps.")
    if not available[kind]:
        raise ValueError(
            f"device={name!r} is not available on this machine; choose 'cpu', or None."
        )
    return torch.device(name)
