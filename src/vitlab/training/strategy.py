"""How Lightning spreads a run over processes: alone, a copy in each (DDP), or a share of every weight in each (FSDP2).

Lightning's own names for FSDP mean its first version, which refuses CPUs; the second one is its ModelParallelStrategy.
"""

from typing import Any, Literal

from torch import nn

from vitlab.training.plan import Machine


def settings(machine: Machine) -> dict[str, Any]:
    """What Lightning's Trainer has to be told."""
    world = machine.devices * machine.nodes
    if world == 1:
        return {"devices": 1}
    from lightning.pytorch.plugins.environments import TorchElasticEnvironment  # type: ignore[attr-defined]
    from lightning.pytorch.strategies import DDPStrategy, ModelParallelStrategy

    strategy: Any
    if machine.strategy == "fsdp":
        strategy = ModelParallelStrategy(data_parallel_size=world, tensor_parallel_size=1)
    else:
        strategy = DDPStrategy()
    return {
        "devices": machine.devices,
        "num_nodes": machine.nodes,
        "strategy": strategy,
        "plugins": [TorchElasticEnvironment()],
        "use_distributed_sampler": False,  # our orders share each batch themselves
    }


def shard(model: nn.Module, mesh: Any) -> None:
    """Each block's weights spread over the processes, put together while it computes, and then let go again.

    The whole model too: weights that stayed together after validation would be the average's in the next step.
    """
    from torch.distributed.fsdp import FSDPModule, fully_shard

    blocks = [block for found in model.modules() if isinstance(found, nn.ModuleList) for block in found]
    for module in [*reversed(blocks), model]:  # inner ones first
        fully_shard(module, mesh=mesh, reshard_after_forward=True)
        if mesh.device_type == "cpu" and isinstance(module, FSDPModule):
            # gloo knows no mean: asked for one it may give the sum. Sum, then divide.
            module.set_force_sum_reduction_for_comms(True)


Strategy = Literal["auto", "ddp", "fsdp"]
