"""`python -m env.lab run --real`: a user's script in the distribution's kernel under QEMU, in real time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.scripts import PAIR, assert_ctrl_c_reaches_the_script, begin, run, write

pytestmark = pytest.mark.timeout(600)


def test_output_status_and_files_are_the_scripts(tmp_path: Path) -> None:
    (tmp_path / "deleted").write_text("before\n")
    script = write(
        tmp_path,
        "import os, platform, sys\n"
        "print(platform.version(), os.getuid(), os.getcwd(), sys.argv[1:], sys.stdin.read())\n"
        "print('error', file=sys.stderr)\n"
        "os.remove('deleted')\n"
        "os.makedirs('deep/er')\n"
        "open('deep/er/large', 'wb').write(bytes(3_000_000))\n"
        "open('../outside', 'w').close()\n"
        "raise SystemExit(7)\n",
    )
    output, errors = run(tmp_path, "run", "--real", script, "--seed", "x", stdin="typed", status=7)
    assert "Debian" in output
    assert output.endswith(f" 0 {tmp_path} ['--seed', 'x'] typed\n")
    assert errors.startswith("error\nlab: ")
    assert "files that came back: 1" in errors
    assert (tmp_path / "deep" / "er" / "large").read_bytes() == bytes(3_000_000)
    assert not (tmp_path / "deleted").exists()
    assert not (tmp_path.parent / "outside").exists()


def test_output_comes_as_it_is_written(tmp_path: Path) -> None:
    process = begin(tmp_path, "run", "--real", write(tmp_path, "import time\nprint('first')\ntime.sleep(4)\n"))
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    began_s = time.monotonic()
    assert process.poll() is None
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert time.monotonic() - began_s > 3, "the output came at the end of the script"


def test_ctrl_c_interrupts_the_script_whose_files_come_back(tmp_path: Path) -> None:
    assert_ctrl_c_reaches_the_script(tmp_path, "--real", ends_within_s=120)


def test_mininet_has_the_delay_of_its_links(tmp_path: Path) -> None:
    script = write(tmp_path, PAIR.replace(', jitter="1ms"', "") + 'print(h1.cmd("ping -c 3", h2.IP()))\nnet.stop()\n')
    output, _ = run(tmp_path, "run", "--real", "--module", "tcp_ndm", script)
    assert "3 packets transmitted, 3 received" in output
    least_ms = float(output.split("min/avg/max/mdev = ")[1].split("/")[0])
    assert 19.5 < least_ms < 30


def test_an_unknown_kernel_is_refused_before_it_boots(tmp_path: Path) -> None:
    output, errors = run(tmp_path, "run", "--real", "--kernel", "5.4", write(tmp_path, ""), status=2)
    assert output == ""
    assert errors.startswith("error: ")
    assert "5.4" in errors
