"""The text of trace files that were handed over: by the host to a guest, by a process to the nodes of a cluster.

A guest has a /tmp, /run and /dev of its own, and a node may lack the file. A text that was handed over takes the place
of the file with its name. Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import base64
import gzip

_texts: dict[str, str] = {}  # by the absolute path of the file


def hand_over(name: str, text: str) -> None:
    """Use this text for a trace file from now on, whether the file exists or not. name: its absolute path."""
    _texts[name] = text


def text_handed_over(name: str) -> str | None:
    """Return the text of a file that was handed over; None for any other."""
    return _texts.get(name)


def packed(text: str) -> str:
    """Return a text compressed, for a frame or a pickle."""
    # without a time stamp and at a low level: a trace shrinks by a factor of five in a few milliseconds
    return base64.b64encode(gzip.compress(text.encode(), 1, mtime=0)).decode()


def unpacked(data: str) -> str:
    """Return the text of packed()."""
    return gzip.decompress(base64.b64decode(data)).decode()
