"""What torch.jit.script gets in the place of a layer: torch's own, on the same weights."""

import warnings

from torch import nn

from unspool.engine import no_script

HOME = nn.RNNBase.__module__


def torchs_own(module: nn.Module) -> nn.Module:
    """torch's class with everything that this module has."""
    kind = next(kind for kind in type(module).__mro__ if kind.__module__ == HOME)
    ours = next(kind for kind in type(module).__mro__ if kind.__module__.startswith("unspool.nn"))
    if type(module).forward is not ours.forward:  # a subclass that does something else
        return no_script(module)
    warnings.warn(
        "torch.jit.script cannot read equations: it puts torch.nn's layer, with the same weights, "
        "in the place of this one, also in the model that it is given",
        stacklevel=3,
    )
    twin: nn.Module = object.__new__(kind)
    twin.__dict__ |= {name: held for name, held in vars(module).items() if name != "equations"}
    twin._parameters = dict(module._parameters)
    return twin
