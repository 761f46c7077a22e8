"""As many flows as a scenario may have, in the memory of an ordinary lab."""

from __future__ import annotations

import pytest

from env.lab import VirtualLab
from env.network.path import Path
from env.network.traffic.endpoints import MAX_FLOWS

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("flows", [256, MAX_FLOWS])
def test_many_flows_share_the_memory(flows: int) -> None:
    with VirtualLab(seed=1, timeout_s=600) as lab:
        path = Path(rate_mbps=100, rtt_ms=20)
        result = lab.run(path, [{"scheme": "cubic", "start_s": 0, "duration_s": 3}] * flows, 3.0, sample_ms=100)
    assert sum(flow.received_bytes for flow in result.flows) * 8 / 3e6 > 90
