"""Which device to compute on."""

import torch


def choose_device(name: str) -> torch.device:
    """The device called `name`; "auto" takes a GPU if there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name == "auto":
        return torch.device("cuda" if cuda else "mps" if mps else "cpu")
    kind = str(name).partition(":")[0]
    here = {"cpu": True, "cuda": cuda, "mps": mps}
    if kind not in here:
        raise ValueError(
            f"Unknown device {name!r}; choose one of: auto, cpu, cuda, mps."
        )
    if not here[kind]:
        raise ValueError(
            f"device={name!r} was asked for, but this machine has none; "
            "choose 'auto' or 'cpu'."
        )
    return torch.device(name)
