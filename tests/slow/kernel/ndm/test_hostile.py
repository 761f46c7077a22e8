"""tcp_ndm in the sanitizer kernel, over networks with all kinds of faults.

KASAN, UBSAN, lockdep and kmemleak watch. Each flow must deliver every byte as it was sent. At the end there must be no
connection in any namespace, no reference to the module, and no leaked memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from env.lab import Lab
from kernel.kunit.reports import LeakWatch
from tests.support.guest import shell
from tests.support.kernel.hostile import SETUP, HostileNetworks, check, check_trace, no_connection_is_left, run
from tests.support.labs import checked_lab
from tests.support.models import BAD_MODELS, SLOTS, put_models, use_model

FOLDER = "/sys/module/tcp_ndm/ndm"
TRACING = "/sys/kernel/tracing"
TRACE_BUFFER_KB = 65536


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with checked_lab("tcp_ndm", seed=11, variant="sanitizer") as running:
        shell(running, f"set -e\n{SETUP}")
        put_models(running, {name: BAD_MODELS[name] for name in ("grow", "shrink")})
        shell(running, f"echo {TRACE_BUFFER_KB} >{TRACING}/buffer_size_kb; echo 1 >{TRACING}/events/ndm/enable")
        watch = LeakWatch(running)
        yield running
        nothing_is_left(running)
        assert watch.leaks() == []


def nothing_is_left(lab: Lab) -> None:
    """Check that no connection is left, that the counters agree with the trace, and that the module unloads."""
    code = 'link("delay 10ms")\nflow = Flow(*connect_far())\nflow.watch(1)\nprint(json.dumps(flow.finish()))'
    check(run(lab, code))
    no_connection_is_left(lab)
    traced = check_trace(lab, shell(lab, f"cat {TRACING}/trace").splitlines())
    assert traced == counter(lab, "decisions")
    assert shell(lab, "cat /sys/module/tcp_ndm/refcnt") == "0"
    shell(lab, "rmmod tcp_ndm")


def counter(lab: Lab, name: str) -> int:
    return int(shell(lab, f"cat {FOLDER}/counters/{name}"))


class TestModule(HostileNetworks):
    def use(self, lab: Lab, model: str) -> None:
        use_model(lab, model)


def test_invalid_models_change_nothing_while_a_flow_runs(lab: Lab) -> None:
    use_model(lab, "builtin")
    before = counter(lab, "models_refused")
    files = "head -c 100 grow.bin >cut.bin && head -c 5000 /dev/zero >zero.bin && : >empty.bin"
    shell(lab, f"cd /tmp/firmware && {files}")
    code = f"""
        link("delay 10ms rate 20mbit loss 1%")
        flow = Flow(*connect_far())
        refused = 0
        for name in 20 * ("cut.bin", "zero.bin", "empty.bin", "missing.bin", "../escape.bin"):
            flow.watch(0.02)
            file = os.open("{SLOTS}", os.O_WRONLY)
            try:
                os.write(file, f"+ndm {{name}}".encode())  # unbuffered: a buffer would write again when it is closed
            except OSError:
                refused += 1
            os.close(file)
        model = open("{FOLDER}/model").read().strip()
        print(json.dumps(flow.finish() | {{"refused": refused, "model": model}}))
    """
    result = run(lab, code)
    check(result)
    assert result["refused"] == 100
    assert counter(lab, "models_refused") == before + 80, "names outside of the folder must not count"
    assert result["model"] == "builtin"
