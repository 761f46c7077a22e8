"""TCP segments: as text in the notation of packetdrill, and as the bytes of an IPv4 packet.

    [ect0] P. 1:1449(1448) ack 1 win 502 <sack 2897:4345,TS val 20 ecr 1000>

IP's ECN field (not-ect where it is left out), flags (S, F, R, P, E for ECE, W for CWR, "." for ACK), first byte, end
and length of the payload, and the rest where there is one. The numbers of each side are relative: its first byte is 1,
and its time stamps count from that of its SYN. Standard library only: the guest imports this module.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace

FLAGS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, ".": 0x10, "E": 0x40, "W": 0x80}
ECN = ("not-ect", "ect1", "ect0", "ce")  # by IP's two bits
_TEXT = re.compile(
    r"(?:\[(?P<ecn>[\w-]+)\] )?(?P<flags>[FSRP.EW]+) (?P<seq>\d+):(?P<end>\d+)\((?P<length>\d+)\)"
    r"(?: ack (?P<ack>\d+))?(?: win (?P<win>\d+))?(?: <(?P<options>[^>]*)>)?"
)
_IP = struct.Struct(">BBHHHBBH4s4s")
_TCP = struct.Struct(">HHIIBBHHH")
_TTL, _TCP_PROTOCOL = 64, 6
_WORD = 1 << 32
_ENDS, _NOP, _MSS, _WSCALE, _SACK_OK, _SACK, _TIMESTAMPS = 0, 1, 2, 3, 4, 5, 8


@dataclass(frozen=True)
class Options:
    """A segment's TCP options; None: it has no such one."""

    mss: int | None = None
    wscale: int | None = None
    sack_ok: bool = False
    sack: tuple[tuple[int, int], ...] = ()  # first byte and end of each block
    val: int | None = None  # of the time stamps, ms
    ecr: int | None = None

    def __str__(self) -> str:
        words = []
        if self.mss is not None:
            words.append(f"mss {self.mss}")
        if self.sack_ok:
            words.append("sackOK")
        if self.sack:
            words.append("sack " + " ".join(f"{first}:{end}" for first, end in self.sack))
        if self.val is not None:
            words.append(f"TS val {self.val}" + ("" if self.ecr is None else f" ecr {self.ecr}"))
        if self.wscale is not None:
            words.append(f"wscale {self.wscale}")
        return ",".join(words)


@dataclass(frozen=True)
class Segment:
    """One segment; ack, win, ecn of None: not named in the text."""

    flags: str
    seq: int
    length: int = 0  # bytes of payload
    ack: int | None = None
    win: int | None = None
    ecn: str | None = None
    options: Options = field(default_factory=Options)

    def __str__(self) -> str:
        text = f"[{self.ecn}] " if self.ecn and self.ecn != ECN[0] else ""
        text += f"{self.flags} {self.seq}:{self.seq + self.length}({self.length})"
        text += "" if self.ack is None else f" ack {self.ack}"
        text += "" if self.win is None else f" win {self.win}"
        return text + (f" <{self.options}>" if str(self.options) else "")

    def difference(self, seen: Segment) -> str:
        """Return what of a segment seen is not as this one says, or "". What this one leaves out may be anything.

        P may be there unless it is named: where a push falls is a matter of how the application wrote.
        """
        wanted, flags = set(self.flags), set(seen.flags)
        if wanted != flags - ({"P"} - wanted):
            return "flags"
        if (self.seq, self.length) != (seen.seq, seen.length):
            return "sequence numbers"
        for name in ("ack", "win", "ecn"):
            if getattr(self, name) not in (None, getattr(seen, name)):
                return name
        for name in ("mss", "wscale", "sack_ok", "sack", "val", "ecr"):
            value = getattr(self.options, name)
            if value not in (None, False, ()) and value != getattr(seen.options, name):
                return f"option {name}"
        return ""


def parse_segment(text: str) -> Segment:
    """Read a segment's text. Raises ValueError that shows what is wrong."""
    match = _TEXT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no segment, such as '. 1:1449(1448) ack 1 win 502 <sack 2897:4345>'")
    seq, end, length = (int(match[name]) for name in ("seq", "end", "length"))
    if end - seq != length:
        raise ValueError(f"{text!r}: from {seq} to {end} are {end - seq} bytes, not {length}")
    if match["ecn"] and match["ecn"] not in ECN:
        raise ValueError(f"{text!r}: ECN is one of {', '.join(ECN)}, not {match['ecn']}")
    ack, win = (None if match[name] is None else int(match[name]) for name in ("ack", "win"))
    return Segment(match["flags"], seq, length, ack, win, match["ecn"], _parse_options(match["options"] or ""))


def _parse_options(text: str) -> Options:
    options = Options()
    for option in filter(None, text.split(",")):
        words = option.split()
        if words[0] == "mss" and len(words) == 2:
            options = replace(options, mss=int(words[1]))
        elif words == ["sackOK"]:
            options = replace(options, sack_ok=True)
        elif words[0] == "sack" and len(words) > 1:
            blocks = (tuple(map(int, block.split(":"))) for block in words[1:])
            options = replace(options, sack=tuple((first, end) for first, end in blocks))
        elif words[0] == "TS" and words[1::2] == ["val", "ecr"][: len(words) // 2]:
            options = replace(options, val=int(words[2]), ecr=int(words[4]) if len(words) > 4 else None)
        elif words[0] == "wscale" and len(words) == 2:
            options = replace(options, wscale=int(words[1]))
        else:
            raise ValueError(f"option {option!r} is unknown: mss N, sackOK, sack A:B C:D, TS val V ecr E, wscale N")
    return options


@dataclass(frozen=True)
class Side:
    """Where one side's numbers begin. address: IPv4, 4 bytes. isn, base_ms: of its SYN and of its time stamps."""

    address: bytes
    port: int
    isn: int = 0
    base_ms: int = 0


def to_bytes(segment: Segment, source: Side, destination: Side) -> bytes:
    """Return the IPv4 packet, with right checksums."""
    options = _options_to_bytes(segment.options, source, destination)
    flags = sum(FLAGS[flag] for flag in set(segment.flags))
    head = _TCP.size + len(options)
    seq = (source.isn + segment.seq) % _WORD
    ack = 0 if segment.ack is None else (destination.isn + segment.ack) % _WORD
    ports = (source.port, destination.port)
    body = options + bytes(segment.length)
    pseudo = source.address + destination.address + struct.pack(">BBH", 0, _TCP_PROTOCOL, head + segment.length)
    unchecked = _TCP.pack(*ports, seq, ack, head << 2, flags, segment.win or 0, 0, 0)
    check = _checksum(pseudo + unchecked + body)
    tcp = _TCP.pack(*ports, seq, ack, head << 2, flags, segment.win or 0, check, 0)
    ecn = ECN.index(segment.ecn or ECN[0])
    total = _IP.size + head + segment.length
    fields = (0x45, ecn, total, 0, 0x4000, _TTL, _TCP_PROTOCOL)
    ip = _IP.pack(*fields, _checksum(_IP.pack(*fields, 0, source.address, destination.address)), source.address,
                  destination.address)  # fmt: skip
    return ip + tcp + body


def _options_to_bytes(options: Options, source: Side, destination: Side) -> bytes:
    data = b""
    if options.mss is not None:
        data += struct.pack(">BBH", _MSS, 4, options.mss)
    if options.sack_ok:
        data += bytes((_SACK_OK, 2))
    if options.sack:
        blocks = [(destination.isn + edge) % _WORD for block in options.sack for edge in block]
        data += struct.pack(f">BB{len(blocks)}I", _SACK, 2 + 4 * len(blocks), *blocks)
    if options.val is not None:
        val, ecr = source.base_ms + options.val, destination.base_ms + (options.ecr or 0)
        data += struct.pack(">BBII", _TIMESTAMPS, 10, val % _WORD, ecr % _WORD)
    if options.wscale is not None:
        data += bytes((_WSCALE, 3, options.wscale))
    return data + bytes((_NOP,)) * (-len(data) % 4)


def from_bytes(packet: bytes, source: Side, destination: Side) -> Segment:
    """Return the segment of an IPv4 packet that source sent to destination, its numbers relative."""
    ip = (packet[0] & 15) * 4
    total = int.from_bytes(packet[2:4])
    _, _, seq, ack, offset, bits, win, _, _ = _TCP.unpack_from(packet, ip)
    head = (offset >> 4) * 4
    flags = "".join(flag for flag, bit in FLAGS.items() if bits & bit)
    return Segment(
        flags="".join(sorted(flags, key="SFRPEW.".index)),
        seq=(seq - source.isn) % _WORD,
        length=total - ip - head,
        ack=(ack - destination.isn) % _WORD if "." in flags else None,
        win=win,
        ecn=ECN[packet[1] & 3],
        options=_options_from_bytes(packet[ip + _TCP.size : ip + head], source, destination),
    )


def _options_from_bytes(data: bytes, source: Side, destination: Side) -> Options:
    options = Options()
    while data and data[0] != _ENDS:
        if data[0] == _NOP:
            data = data[1:]
            continue
        kind, size = data[0], data[1]
        value, data = data[2:size], data[size:]
        if kind == _MSS:
            options = replace(options, mss=int.from_bytes(value))
        elif kind == _SACK_OK:
            options = replace(options, sack_ok=True)
        elif kind == _SACK:
            edges = [(edge - destination.isn) % _WORD for edge in struct.unpack(f">{len(value) // 4}I", value)]
            options = replace(options, sack=tuple(zip(edges[::2], edges[1::2], strict=True)))
        elif kind == _TIMESTAMPS:
            val, ecr = struct.unpack(">II", value)
            echoes = (ecr - destination.base_ms) % _WORD if ecr else 0
            options = replace(options, val=(val - source.base_ms) % _WORD, ecr=echoes)
        elif kind == _WSCALE:
            options = replace(options, wscale=value[0])
    return options


def _checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = data + bytes(len(data) % 2)
    total = sum(int.from_bytes(padded[i : i + 2]) for i in range(0, len(padded), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
