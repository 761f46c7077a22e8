"""The kinds of networks, each with a file of its own. Standard library only: the guest agent imports this module."""

from __future__ import annotations

from typing import Any

from env.network.chain import Chain
from env.network.path import Path
from env.network.rack import Rack

Network = Path | Rack | Chain

KINDS: dict[str, type[Network]] = {"path": Path, "rack": Rack, "chain": Chain}  # by the key of a scenario


def network_from_dict(data: dict[str, Any]) -> Network:
    """Return the network of its as_dict(). Raises UserError."""
    kind = data["topology"].partition("-")[0]
    return (KINDS[kind] if kind in ("rack", "chain") else Path).from_dict(data)


def topology_name(network: Network) -> str:
    """Return the name of the network that the guest builds."""
    return network.network if isinstance(network, Path) else network.topology
