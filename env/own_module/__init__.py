"""Congestion controls that a user brings: their modules are built, checked, and asked what they register."""

from env.own_module.kernel_tree import KernelTree, virtual_tree
from env.own_module.module_info import check_release
from env.own_module.prepare import OwnModule, prepare

__all__ = ["KernelTree", "OwnModule", "check_release", "prepare", "virtual_tree"]
