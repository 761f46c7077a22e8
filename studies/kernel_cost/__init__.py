# SPDX-License-Identifier: GPL-2.0
"""The cost of the module: a decision, an ACK, a gigabyte, a connection's state."""
