"""The host lab needs root."""

from __future__ import annotations

import os

import pytest

from env.lab import LabError
from env.lab.stock.host import HostLab


def test_error_for_an_ordinary_user_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="needs root for network namespaces and kernel modules; lab=virtual does not"):
        HostLab()
