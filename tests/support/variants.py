"""Which lab kernels a test runs in: the plain one, the one with sanitizers, or both."""

from __future__ import annotations

import os

import pytest

from env.checkout import BUILD

SANITIZER_MODULES = BUILD / "modules" / "sanitizer"
# in CI a missing sanitizer kernel is a failure
needs_sanitizer = pytest.mark.skipif(
    not (SANITIZER_MODULES / "built").is_file() and not os.environ.get("CI"),
    reason="the sanitizer kernel is not built: make sanitizer",
)
# the parameters of a fixture
BOTH = ["lab", pytest.param("sanitizer", marks=needs_sanitizer)]
