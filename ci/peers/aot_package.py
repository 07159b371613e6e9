#!/usr/bin/env python3
"""Writes an AOTInductor package of the forward pass of one of our models, as `reprobench run --package FILE` takes it.

    ci/peers/aot_package.py mlp/base --batch 32 --out mlp.pt2

The network is the twin of torch_step.py with our parameters' names. Its weights are random: whoever runs the package puts
others in their place. What the package is of stands in its metadata; the compiled code does not say it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import tempfile

import torch
from torch import nn
from torch.func import functional_call

import torch_step

# A layer of torch_step.Block, and what it is called in models/gpt2.
GPT2_LAYERS = {"c_attn": "attn.c_attn", "attn_proj": "attn.c_proj", "c_fc": "mlp.c_fc", "mlp_proj": "mlp.c_proj"}


def mlp_name(name: str) -> str:
    _, layer, kind = name.split(".")
    return f"fc{int(layer) + 1}.{kind}"


def gpt2_name(name: str) -> str:
    if not name.startswith("blocks."):
        return name
    _, block, layer, kind = name.split(".")
    return f"h.{block}.{GPT2_LAYERS.get(layer, layer)}.{kind}"


NAMES = {"mlp": mlp_name, "gpt2": gpt2_name}


class Renamed(nn.Module):
    """A network whose parameters are called as ours; what is exported keeps the names they have here."""

    def __init__(self, network: nn.Module, name_of) -> None:
        super().__init__()
        self.network = [network]  # in a list: no module of this one
        self.names = {theirs: name_of(theirs) for theirs, _ in network.named_parameters()}
        for theirs, parameter in network.named_parameters():
            *modules, last = self.names[theirs].split(".")
            place: nn.Module = self
            for name in modules:
                if name not in place._modules:
                    place.add_module(name, nn.Module())
                place = place._modules[name]
            place.register_parameter(last, parameter)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        weights = {theirs: self.get_parameter(ours) for theirs, ours in self.names.items()}
        return functional_call(self.network[0], weights, (batch,))


def without_umbrella(folder: str) -> str:
    """A compiler that does not link libtorch.so, which holds nothing of its own and wants all of CUDA beside it."""
    compiler = pathlib.Path(folder) / "g++"  # by its name Inductor knows which options it takes
    compiler.write_text(
        "#!/bin/bash\n"
        'for word in "$@"; do [ "$word" = -ltorch ] || words+=("$word"); done\n'
        f'exec {os.environ.get("CXX", "g++")} "${{words[@]}}"\n'
    )
    compiler.chmod(0o755)
    return str(compiler)


def write_package(workload: str, batch_size: int, out: str, device: str = "cpu", module=Renamed) -> None:
    """`module` makes of a network and its names what is exported."""
    model, preset = workload.split("/")
    torch.manual_seed(0)
    network = torch_step.WORKLOADS[workload][0]().to(device)
    batch = torch_step.samples_of(network)[0][:batch_size].to(device)
    metadata = {"model": model, "preset": preset, "batch_size": str(batch_size), "inputs": "input"}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(module(network, NAMES[model]), (batch,), strict=False)
        torch._inductor.aoti_compile_and_package(
            exported,
            package_path=out,
            inductor_configs={
                "aot_inductor.metadata": {f"reprobench.{key}": value for key, value in metadata.items()},
                "cpp.cxx": (None, without_umbrella(folder)),
            },
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted(name for name in torch_step.WORKLOADS if name.split("/")[0] in NAMES)
    parser.add_argument("workload", choices=known)
    parser.add_argument("--batch", type=int, default=32, help="samples of one forward pass; a package takes no other number")
    parser.add_argument("--out", required=True, help="FILE.pt2")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    arguments = parser.parse_args()
    write_package(arguments.workload, arguments.batch, arguments.out, arguments.device)


if __name__ == "__main__":
    main()
