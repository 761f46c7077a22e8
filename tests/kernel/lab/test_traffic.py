"""/dev/lab_traffic in the lab: the kernel sends, receives and samples for a program, and gives each socket back."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from env.lab import Lab
from tests.support.guest import run_program
from tests.support.labs import shared_lab

SOCKETS = 2048
TCP, BYTES, NETLINK, LATENCY = range(4)

# The requests of kernel/lab/lab_traffic.h, for the programs below.
REQUESTS = """
import errno, fcntl
PREPARE, SERVE, COUNT, STOP = 0x4C00, 0x40184C01, 0xC0184C02, 0xC0184C03
ADD_SOURCE, DROP_SOURCE, TICK = 0x40204C04, 0x40204C05, 0x40104C06
SEND_BULK, SEND_STREAM, SEND_REQUESTS, RECEIVE, REPLY = range(5)
TCP, BYTES, NETLINK, LATENCY = range(4)
device = os.open("/dev/lab_traffic", os.O_RDWR)

def prepare(sockets):
    return fcntl.ioctl(device, PREPARE, sockets)

def serve(role, fd, size=0, id=0):
    fcntl.ioctl(device, SERVE, struct.pack("iIIxxxxQ", fd, role, id, size))

def count(request, fd):
    return struct.unpack("iiQQ", fcntl.ioctl(device, request, struct.pack("iiQQ", fd, 0, 0, 0)))[1:]

def source(request, type, id, fd, bytes=0, length=0):
    fcntl.ioctl(device, request, struct.pack("IIiIQQ", type, id, fd, length, 0, bytes))

def tick(first_ns, interval_ns):
    fcntl.ioctl(device, TICK, struct.pack("QQ", first_ns, interval_ns))

def records():
    data, found = os.read(device, 1 << 19), []
    while data:
        type, id, value, length, _ = struct.unpack_from("IIQII", data)
        found.append((type, id, value, data[24 : 24 + length]))
        data = data[24 + (length + 7) // 8 * 8 :]
    return found

def refused(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
"""

lab = shared_lab(setup="ip link set lo up && tc qdisc add dev lo root netem delay 5ms limit 10000")


def answer(lab: Lab, text: str) -> Any:
    """Return what a program with REQUESTS printed as JSON."""
    return json.loads(run_program(lab, REQUESTS + textwrap.dedent(text)))


def test_sent_in_the_kernel_is_all_that_a_program_receives(lab: Lab) -> None:
    program = """
    sender, receiver = connect("reno")
    sender.setblocking(False)
    prepare(1)
    serve(SEND_BULK, sender.fileno())
    receiver.settimeout(10)
    received = len(receiver.recv(1 << 20))
    counted = count(COUNT, sender.fileno())
    sent = count(STOP, sender.fileno())
    sender.shutdown(socket.SHUT_WR)
    while data := receiver.recv(1 << 20):
        received += len(data)
    print(json.dumps([counted, sent, received]))
    """
    counted, (error, sent, _), received = answer(lab, program)
    assert error == 0
    assert 0 < counted[1] <= sent == received


def test_received_in_the_kernel_is_all_that_a_program_sent(lab: Lab) -> None:
    """COUNT takes what is below SO_RCVLOWAT, too. After STOP the program reads again."""
    program = """
    sender, receiver = connect("reno")
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 4096)
    prepare(1)
    serve(RECEIVE, receiver.fileno())
    seen = []
    for size in (1, 100_000, 5):
        sender.sendall(bytes(size))
        time.sleep(0.1)
        seen.append(count(COUNT, receiver.fileno()))
    seen.append(count(STOP, receiver.fileno()))
    sender.sendall(b"more")
    time.sleep(0.1)
    print(json.dumps([seen, receiver.recv(4).decode()]))
    """
    seen, rest = answer(lab, program)
    assert seen == [[0, 1, 0], [0, 100_001, 0], [0, 100_006, 0], [0, 100_006, 0]]
    assert rest == "more"


def test_stream_records_how_long_each_write_took(lab: Lab) -> None:
    program = """
    sender, receiver = connect("reno")
    prepare(1)
    serve(SEND_STREAM, sender.fileno(), 100_000, 7)
    received = 0
    while received < 2_000_000:
        received += len(receiver.recv(1 << 20))
    error, sent, left = count(STOP, sender.fileno())
    found = records()
    print(json.dumps([error, sent, left, len(found), sorted({r[:2] for r in found}), sum(r[2] for r in found)]))
    """
    error, sent, left, writes, kinds, took_ns = answer(lab, program)
    assert error == 0
    assert writes * 100_000 == sent - (100_000 - left if left else 0)
    assert kinds == [[LATENCY, 7]]
    assert took_ns > 5e6  # more than the socket's buffer: at least one way of 5 ms


def test_each_request_has_a_reply(lab: Lab) -> None:
    """A round trip has 10 ms. Requests larger than the receiver's buffer come in parts."""
    program = """
    found = []
    for size in (1000, 20_000_000):
        pair = connect("reno")
        prepare(2)
        serve(SEND_REQUESTS, pair[0].fileno(), size, 1)
        serve(REPLY, pair[1].fileno(), size)
        time.sleep(2)
        sent, received = count(STOP, pair[0].fileno())[1], count(STOP, pair[1].fileno())[1]
        found.append([sent, received, sorted(r[2] / 1e6 for r in records())])
    print(json.dumps(found))
    """
    (sent, received, small_ms), (_, _, large_ms) = answer(lab, program)
    assert 150 * 1000 < received <= sent == (len(small_ms) + 1) * 1000
    assert small_ms[0] == pytest.approx(10, abs=0.1)
    assert small_ms[-1] < 15
    assert len(large_ms) > 2
    assert large_ms[0] > 20


def test_stopped_receiver_says_how_much_of_the_request_is_missing(lab: Lab) -> None:
    program = """
    sender, receiver = connect("reno")
    prepare(1)
    serve(REPLY, receiver.fileno(), 1000)
    sender.sendall(bytes(400))
    time.sleep(0.1)
    print(json.dumps(count(STOP, receiver.fileno())))
    """
    assert answer(lab, program) == [0, 400, 600]


def test_samples_are_those_of_their_times_and_sources(lab: Lab) -> None:
    """A source that is replaced keeps its place; a socket that nobody reads from counts what it has received."""
    program = """
    sender, receiver = connect("reno")
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    source(ADD_SOURCE, BYTES, 5, receiver.fileno())
    source(ADD_SOURCE, BYTES, 2, -1, 42)
    source(ADD_SOURCE, TCP, 9, sender.fileno())
    tick(begin + 10_000_000, 10_000_000)
    sender.sendall(bytes(1000))
    time.sleep(0.025)
    early = records()
    source(ADD_SOURCE, BYTES, 2, -1, 43)
    source(DROP_SOURCE, TCP, 9, -1)
    time.sleep(0.01)
    rows = [(t, i, (v - begin) / 1e6, struct.unpack("Q", d)[0] if t == BYTES else len(d)) for t, i, v, d in early]
    later = [(t, i, (v - begin) / 1e6, struct.unpack("Q", d)[0]) for t, i, v, d in records()]
    print(json.dumps([rows, later]))
    """
    early, later = answer(lab, program)
    assert [[kind, id_, round(at_ms, 2)] for kind, id_, at_ms, _ in early] == [
        [kind, id_, at_ms] for at_ms in (10, 20) for kind, id_ in ((TCP, 9), (BYTES, 2), (BYTES, 5))
    ]
    assert [row[3] for row in early if row[0] == BYTES] == [42, 1000, 42, 1000]
    assert [[*row[:2], round(row[2], 2), row[3]] for row in later] == [[BYTES, 2, 30, 43], [BYTES, 5, 30, 1000]]


def test_program_is_told_to_read_before_the_room_is_used_up(lab: Lab) -> None:
    """A program that does not read loses its samples: that is an error, not a gap."""
    program = """
    import select
    for id in range(100):
        source(ADD_SOURCE, BYTES, id, -1, id)
    tick(time.clock_gettime_ns(time.CLOCK_MONOTONIC), 1_000_000)
    poller = select.poll()
    poller.register(device, select.POLLIN)
    counts = []
    for _ in range(3):
        poller.poll()
        counts.append(len(records()))
    time.sleep(1)
    print(json.dumps([counts, refused(records)]))
    """
    counts, error = answer(lab, program)
    assert counts == [8200] * 3  # the first multiple of 100 records of 32 bytes above 256 KB
    assert error == "ENOBUFS"


def test_reset_ends_the_traffic_with_its_error(lab: Lab) -> None:
    program = """
    ends = []
    prepare(2)
    for role, served in ((SEND_BULK, 0), (RECEIVE, 1)):
        pair = connect("reno")
        serve(role, pair[served].fileno())
        pair[1 - served].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        pair[1 - served].close()
        time.sleep(0.1)
        ends.append(errno.errorcode[count(STOP, pair[served].fileno())[0]])
    print(json.dumps(ends))
    """
    assert answer(lab, program) == ["ECONNRESET", "ECONNRESET"]


def test_bad_requests_are_refused(lab: Lab) -> None:
    program = f"""
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender, receiver = connect("reno")
    prepare(1)
    serve(RECEIVE, receiver.fileno())
    held = 0
    sockets = [socket.socket() for _ in range({SOCKETS} + 1)]
    while held < len(sockets) and not (full := refused(serve, RECEIVE, sockets[held].fileno())):
        held += 1
    print(json.dumps([
        refused(prepare, {SOCKETS} + 1), refused(prepare, -1), refused(serve, SEND_BULK, 9999),
        refused(serve, SEND_BULK, device), refused(serve, SEND_BULK, datagrams.fileno()),
        refused(serve, SEND_BULK, receiver.fileno()),
        refused(count, COUNT, sender.fileno()), refused(count, STOP, sender.fileno()),
        refused(fcntl.ioctl, device, 0x4C09), refused(fcntl.ioctl, device, STOP, 8), full,
        refused(serve, 5, sender.fileno(), 1), refused(serve, SEND_STREAM, sender.fileno()),
        refused(source, ADD_SOURCE, 3, 0, -1), refused(source, ADD_SOURCE, TCP, 0, -1),
        refused(source, ADD_SOURCE, TCP, 0, 9999), refused(source, ADD_SOURCE, BYTES, 0, device),
        refused(source, ADD_SOURCE, NETLINK, 0, sender.fileno()), refused(source, DROP_SOURCE, TCP, 0, -1),
        refused(source, ADD_SOURCE, BYTES, 0, -1, 0, 4097), refused(tick, 0, 0), tick(0, 1 << 40), refused(tick, 0, 1),
    ]))
    """
    assert answer(lab, program) == [
        "EINVAL", "EINVAL", "EBADF", "ENOTSOCK", "ENOTSOCK", "EBUSY", "ENOENT", "ENOENT", "ENOTTY", "EFAULT", "ENOBUFS",
        "EINVAL", "EINVAL", "EINVAL", "ENOTSOCK", "EBADF", "ENOTSOCK", "ENOTSOCK", "ENOENT",
        "EINVAL", "EINVAL", None, "EBUSY",
    ]  # fmt: skip


def test_sockets_of_a_program_that_was_killed_are_let_go(lab: Lab) -> None:
    """Its connections end, and its threads serve the next program's sockets: no more are made."""
    program = """
    def threads():
        return sum(open(f"/proc/{p}/comm").read().strip() == "lab_flow" for p in os.listdir("/proc") if p.isdigit())

    counts = []
    for _ in range(3):
        listener = socket.create_server(("127.0.0.1", 0))
        child = os.fork()
        if not child:
            device = os.open("/dev/lab_traffic", os.O_RDWR)
            prepare(8)
            sender = socket.create_connection(listener.getsockname())
            serve(SEND_BULK, sender.fileno())
            time.sleep(100)
        receiver, _ = listener.accept()
        time.sleep(0.1)
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(device)
        device = os.open("/dev/lab_traffic", os.O_RDWR)
        while receiver.recv(1 << 20):
            pass
        counts.append(threads())
    print(json.dumps(counts))
    """
    first, *others = answer(lab, program)
    assert first >= 8
    assert others == [first, first]
