"""Congestion controls that a user brings: their modules are built, checked, and asked what they register."""

from env.own_module.kernel_tree import KernelTree, virtual_tree
from env.own_module.prepare import OwnModule, prepare

__all__ = ["KernelTree", "OwnModule", "prepare", "virtual_tree"]
