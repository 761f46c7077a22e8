"""A user's own script in a lab: output, status, files, interrupts, and that nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.commands import assert_gone, descendants
from tests.support.scripts import ENVIRONMENT, PAIR, assert_ctrl_c_reaches_the_script, begin, run, write
from tests.support.tools import find_tool

BETWEEN = (
    PAIR
    + """
print(h1.cmd("ping -c 5", h2.IP()))
h2.cmd("iperf -s -D")
print(h1.cmd("iperf -t 5 -c", h2.IP()))
net.stop()
"""
)


def test_a_seed_gives_the_same_output(tmp_path: Path) -> None:
    for program in ("ping", "iperf"):
        find_tool(program, "scripts")
    elsewhere = tmp_path / "another" / "folder"
    elsewhere.mkdir(parents=True)
    first, *others = (
        run(folder, "run", "--quiet", "--seed", seed, write(folder, BETWEEN))
        for folder, seed in ((tmp_path, "1"), (elsewhere, "1"), (tmp_path, "2"))
    )
    assert "5 packets transmitted, 5 received" in first[0]
    assert "Mbits/sec" in first[0]
    assert others[0] == first
    assert others[1] != first


def test_status_output_and_input_are_the_scripts(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import os, sys\n"
        "for number in range(3):\n"
        "    print('out', number)\n"
        "    print('err', number, file=sys.stderr)\n"
        "print(os.getuid(), os.getcwd(), sys.argv[1:], sys.stdin.read())\n"
        "raise SystemExit(7)\n",
    )
    output, errors = run(tmp_path, "run", script, "--seed", "x", stdin="typed", status=7)
    assert output == f"out 0\nout 1\nout 2\n0 {tmp_path} ['--seed', 'x'] typed\n"
    assert errors.startswith("err 0\nerr 1\nerr 2\nlab: ")
    assert "times as fast as real time" in errors


def test_one_file_of_both_outputs_has_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import random, subprocess, sys, time\n"
        "for number in range(400):\n"
        "    print(number, file=(sys.stdout, sys.stderr)[number % 2])\n"
        "    time.sleep(random.Random(number).choice((0, 0, 0.15)))\n"
        "    if not number % 20: subprocess.run(['true'])\n",
    )
    command = [sys.executable, "-m", "env.lab", "run", "--quiet", script]
    output = subprocess.check_output(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.STDOUT, text=True)
    assert output.split() == [str(number) for number in range(400)]


def test_runs_leave_nothing(tmp_path: Path) -> None:
    def left() -> set[str]:
        names = [*Path("/dev/shm").iterdir(), *Path("/tmp").iterdir(), *Path("/proc/mounts").read_text().splitlines()]
        return {str(name) for name in names if any(word in str(name) for word in ("vm_file", "uml", "ndm", "overlay"))}

    script = write(tmp_path, "import os\nos.system('sleep 1000 &')\nopen('/tmp/ndm-file', 'w').write('x' * 10**6)\n")
    run(tmp_path, "run", script)
    before = left()
    for _ in range(3):
        run(tmp_path, "run", script)
    assert not left() - before


def test_output_comes_as_it_is_written(tmp_path: Path) -> None:
    script = write(tmp_path, "import time\nprint('first')\nwhile True:\n    time.sleep(1)\n")
    process = begin(tmp_path, "run", script)
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    assert process.poll() is None
    process.kill()
    process.communicate()


def test_files_below_the_working_folder_come_back(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in ("changed", "deleted", "read"):
        (work / name).write_text(f"{name} before\n")
    script = write(
        work,
        "import os, subprocess\n"
        "subprocess.run('''\n"
        "cat read > new; echo after > changed; rm deleted; mkdir -p deep/er\n"
        "head -c 3000000 /dev/zero > deep/er/large\n"
        "ln -s new link; chmod 600 new; echo x > ../outside; echo x > /etc/lab-test; echo x > /tmp/lab-test\n"
        "''', shell=True, check=True)\n"
        "raise SystemExit(3)\n",
    )
    _, errors = run(work, "run", script, status=3)
    assert "files that came back: 4" in errors
    assert (work / "new").read_text() == "read before\n"
    assert (work / "new").stat().st_mode & 0o777 == 0o600
    assert (work / "changed").read_text() == "after\n"
    assert not (work / "deleted").exists()
    assert (work / "deep" / "er" / "large").read_bytes() == bytes(3_000_000)
    assert os.readlink(work / "link") == "new"
    assert abs((work / "new").stat().st_mtime - time.time()) < 3600
    assert not any(file.exists() for file in (tmp_path / "outside", Path("/etc/lab-test"), Path("/tmp/lab-test")))


def test_ctrl_c_interrupts_the_script(tmp_path: Path) -> None:
    assert_ctrl_c_reaches_the_script(tmp_path, ends_within_s=60)


def test_the_time_limit_ends_every_script(tmp_path: Path) -> None:
    sleeps = write(tmp_path, "import time\nopen('file', 'w').close()\nwhile True:\n    time.sleep(1)\n")
    run(tmp_path, "run", "--time-limit", "1", sleeps, status=124)
    assert (tmp_path / "file").exists()


def test_the_time_limit_keeps_the_files_of_a_loop(tmp_path: Path) -> None:
    begins = "import os, signal\nopen('file', 'w').close()\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    run(
        tmp_path, "run", "--time-limit", "1", write(tmp_path, begins + "os.fork()\nwhile True:\n    pass\n"), status=124
    )
    assert (tmp_path / "file").exists()


def test_three_interrupts_end_a_lab_that_computes_for_ever(tmp_path: Path) -> None:
    process = begin(tmp_path, "run", write(tmp_path, "print('begun')\nfor number in range(10**12):\n    pass\n"))
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    processes = descendants(process)
    time.sleep(1)  # now it computes, and the guest asks the host for no signal any more
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "lab: ended; the program's files are lost\n"
    assert_gone(processes)


@pytest.mark.parametrize(
    "loop",
    ["end = time.time() + 0.1\nwhile time.time() < end: pass", "while sleeping.poll() is None: pass"],
    ids=["of the clock", "of system calls"],
)
def test_a_loop_that_waits_gets_somewhere(loop: str, tmp_path: Path) -> None:
    head = "import subprocess, time\nsleeping = subprocess.Popen(['sleep', '0.1'])\n"
    output, _ = run(tmp_path, "run", "--time-limit", "60", write(tmp_path, f"{head}{loop}\nprint('waited')\n"))
    assert output == "waited\n"


def test_a_long_loop_of_polls_takes_few_of_them(tmp_path: Path) -> None:
    head = "import select, socket, time\na, b = socket.socketpair()\nb.send(b'x')\ncalls = 0\n"
    loop = "end = time.time() + 5\nwhile time.time() < end:\n    {}\n    calls += 1\nprint(calls)\n"
    for wait in ("select.select([a], [b], [])", "select.select([b], [], [], 0)"):
        output, _ = run(tmp_path, "run", "--quiet", "--time-limit", "60", write(tmp_path, head + loop.format(wait)))
        assert 4000 < int(output) < 6000
    # a loop that takes what it waits for does not wait
    busy = "begun = time.time()\nfor _ in range(1000):\n    select.select([a], [], [])\n    b.send(a.recv(1))\n    "
    busy += "\nprint(time.time() - begun < 0.01)\n"
    assert run(tmp_path, "run", "--quiet", write(tmp_path, head + busy))[0] == "True\n"


def test_iperf3_which_spins_gets_somewhere(tmp_path: Path) -> None:
    find_tool("iperf3", "scripts")
    script = write(tmp_path, PAIR + "h2.cmd('iperf3 -s -D')\nprint(h1.cmd('iperf3 -t 2 -c', h2.IP()))\nnet.stop()\n")
    output, errors = run(tmp_path, "run", script)
    assert "receiver" in output
    assert "virtual time in" in errors


def test_a_module_of_the_project_is_a_congestion_control(tmp_path: Path) -> None:
    script = write(tmp_path, "print(open('/proc/sys/net/ipv4/tcp_available_congestion_control').read())\n")
    output, _ = run(tmp_path, "run", "--module", "tcp_ndm", script)
    assert "ndm" in output.split()


def test_a_shell_reads_commands_from_a_pipe(tmp_path: Path) -> None:
    output, _ = run(tmp_path, "shell", stdin="pwd; echo text > file; ip -brief link; exit 4\n", status=4)
    assert output.startswith(f"{tmp_path}\nlo ")
    assert (tmp_path / "file").read_text() == "text\n"


def test_a_terminal_reaches_the_program(tmp_path: Path) -> None:
    terminal, given = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "env.lab", "shell"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=given,
        stdout=given,
        stderr=given,
        start_new_session=True,
    )
    os.close(given)
    shown = b""

    def expect(text: bytes) -> None:
        nonlocal shown
        while text not in shown:
            shown += os.read(terminal, 4096)

    expect(b"# ")
    os.write(terminal, b"sleep 1000\n")
    time.sleep(0.5)
    os.write(terminal, b"\x03")
    os.write(terminal, b"tty; echo $((6 * 7))\n")
    expect(b"\r\n42\r\n")
    assert b"/dev/pts/" in shown
    os.write(terminal, b"exit 5\n")
    assert process.wait(timeout=60) == 5
    os.close(terminal)
