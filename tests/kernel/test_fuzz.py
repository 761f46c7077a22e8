"""The fuzz targets: they find nothing in the sources, and they find a fault that is put into a header."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.tools import find_tool

TARGETS = ("blob", "bpf", "core", "ctl", "features", "law", "nv")
RUNS = 30_000


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Make a folder with the sources alone, so that builds and findings stay out of the repository."""
    find_tool("clang")
    shutil.copytree(ROOT / "kernel", tmp_path / "kernel")
    return tmp_path


def libbpf_version() -> tuple[int, int]:
    """Return the version of the installed libbpf's headers. From 1.3 on it checks the names of a BTF's members."""
    header = Path("/usr/include/bpf/libbpf_version.h").read_text()
    version = dict(re.findall(r"LIBBPF_(MAJOR|MINOR)_VERSION (\d+)", header))
    return int(version["MAJOR"]), int(version["MINOR"])


def fuzz(target: str, folder: Path, runs: int, optimize: str = "-O2") -> subprocess.CompletedProcess[str]:
    """Build a target from a copy, and run it over the corpus and new inputs, which follow from a fixed seed."""
    make = ["make", "--no-print-directory", "-f", "kernel/fuzz/Makefile", f"OPTIMIZE={optimize}"]
    options = {"cwd": folder, "capture_output": True, "text": True, "check": False}
    built = subprocess.run([*make, f"build/fuzz/{target}_fuzz"], **options)
    assert built.returncode == 0, built.stderr
    assert "warning:" not in built.stderr
    return subprocess.run([*make, f"fuzz-{target}", f"RUNS={runs}", "FUZZ_ARGS=-seed=1 -timeout=20"], **options)


@pytest.mark.parametrize("target", TARGETS)
def test_fuzzing_without_a_finding(copy: Path, target: str) -> None:
    done = fuzz(target, copy, RUNS)
    assert done.returncode == 0, done.stderr
    assert f"stat::number_of_executed_units: {RUNS}" in done.stderr
    assert not list((copy / "build" / "fuzz").glob(f"{target}-*")), "no input was kept"


@dataclass(frozen=True)
class Fault:
    """A fault in a header of kernel/: the right text, the wrong one, and the report that must name it.

    harmless_from: the first version of libbpf that refuses every input in which the fault shows.
    """

    name: str
    target: str
    header: str
    right: str
    wrong: str
    sign: str
    harmless_from: tuple[int, int] | None = None


FAULTS = (
    Fault("an output is not clamped", "core", "ndm/ndm_core.h",
          "out[k] = clamp_t(s64, acc, -(1 << NDM_ACTION_FRAC),\n\t\t\t\t 1 << NDM_ACTION_FRAC);",
          "out[k] = acc;", "truncation|implicit"),
    Fault("32-bit sums", "core", "ndm/ndm_core.h", "\ts64 acc;\n\tint r", "\ts32 acc;\n\tint r", "truncation|implicit"),
    Fault("a scale of 0 shifts by -1", "core", "ndm/ndm_core.h", "(1LL << shift) >> 1", "1LL << (shift - 1)",
          "shift exponent -1"),
    Fault("rounds down", "core", "ndm/ndm_core.h", "state_pairs + ndm_core_half(m->row_frac[r])", "state_pairs",
          "does not hold"),
    Fault("one unit too few", "core", "ndm/ndm_core.h", "m->v[k], m->hidden);", "m->v[k], m->hidden - 1);",
          "does not hold"),
    Fault("units that are not there", "core", "ndm/ndm_core.h", "m->u[r], m->hidden);", "m->u[r], NDM_HIDDEN_MAX);",
          "does not hold"),
    Fault("the sign of a pair's lower product", "core", "ndm/ndm_core.h", "values[0] - (1ULL << 31)", "values[0]",
          "does not hold"),
    Fault("behind the table of tanh", "core", "ndm/ndm_math.h", "\tif (fraction)\n", "",
          "out of bounds|buffer-overflow"),
    Fault("a scale too many", "blob", "ndm/ndm_blob.h", "at[i] > NDM_BLOB_FRAC_MAX", "at[i] > NDM_BLOB_FRAC_MAX + 1",
          "does not hold"),
    Fault("a unit too many", "blob", "ndm/ndm_blob.h", "hidden > NDM_HIDDEN_MAX", "hidden > NDM_HIDDEN_MAX + 1",
          "out of bounds|overflow|does not hold"),
    Fault("a short file", "blob", "ndm/ndm_blob.h", "size < NDM_BLOB_HEAD + NDM_BLOB_DIGEST", "size < 8",
          "heap-buffer-overflow"),
    Fault("a text without an end", "blob", "ndm/ndm_blob.h", "length == NDM_BLOB_TEXT ||", "", "does not hold"),
    Fault("the envelope's size is believed", "blob", "ndm/ndm_blob.h",
          "if (size != ndm_blob_size(hidden, inputs, envelope))", "if (0)", "heap-buffer-overflow|does not hold"),
    Fault("a large number has no highest bit", "bpf", "bpf/include/linux/bitops.h", "\tx |= x >> 16;\n", "",
          "does not hold"),
    Fault("a bit is not counted", "bpf", "bpf/include/linux/bitops.h", "x >> 1 & 0x55555555", "x >> 1 & 0x15555555",
          "does not hold"),
    Fault("roots of 15 bits", "bpf", "bpf/include/linux/kernel.h", "1UL << 15", "1UL << 14", "does not hold"),
    Fault("the verifier's law bounds another window", "bpf", "bpf/ndm_bpf_law.h",
          "b && round ? ndm_bound_update(b, round) : 0", "b && round ? ndm_bound_update(b, round) / 2 : 0",
          "does not hold"),
    Fault("a DSACK takes back what another recovery has sent", "bpf", "ndm/tcp/ndm_sock.h",
          "tp->undo_marker && tp->undo_marker == memory->undo_marker", "tp->undo_marker", "does not hold"),
    Fault("DSACKs take back more than there was", "bpf", "ndm/tcp/ndm_sock.h",
          "\tmemory->spurious = min(memory->spurious, tp->total_retrans);\n", "", "does not hold"),
    Fault("a drain does not end", "bpf", "ndm/tcp/ndm_control.h", "m->drain == 1 || view.now_us", "view.now_us",
          "does not hold"),
    Fault("the policy sets the window in contest", "bpf", "ndm/tcp/ndm_control.h",
          "\tif (!ndm->memory->contest.on)\n\t\tndm_apply_cwnd(", "\tif (1)\n\t\tndm_apply_cwnd(", "does not hold"),
    Fault("slow start begins where a queue has just gone", "bpf", "ndm/tcp/ndm_control.h",
          "interval->faster && ndm->memory->empty == NDM_FASTER_EMPTY &&", "interval->faster &&", "does not hold"),
    Fault("the count of decisions without a queue wraps", "bpf", "ndm/tcp/ndm_control.h",
          "else if (ndm->memory->empty < NDM_FASTER_EMPTY)", "else", "does not hold"),
    Fault("the end of slow start does not settle the drains", "bpf", "ndm/tcp/ndm_control.h",
          "\t\tndm_drain_settled(&ndm->memory->drain);\n", "", "does not hold"),
    Fault("a longer route keeps the queue of the old one", "bpf", "ndm/tcp/ndm_control.h",
          "\t\tndm->memory->bound.most_us = 0;\n", "\t\t;\n", "does not hold"),
    Fault("an interval without an RTT has no queue", "bpf", "ndm/tcp/ndm_control.h", "\t\t\t    bound->most_us,\n",
          "\t\t\t    0,\n", "does not hold"),
    Fault("a time-out in contest does not cut", "bpf", "ndm/tcp/ndm_recovery.h",
          "if (ndm->memory->contest.on)\n\t\tndm_bound_cut(", "if (0)\n\t\tndm_bound_cut(", "does not hold"),
    Fault("the losses of a time-out cut again", "bpf", "ndm/tcp/ndm_control.h",
          " && ndm->phase != NDM_RESTARTING;", ";", "does not hold"),
    Fault("late packets that arrive hide others' losses", "bpf", "ndm/tcp/ndm_sock.h",
          " || (s32)(now - memory->suspected) < 0)", ")", "does not hold"),
    Fault("units are left out", "bpf", "bpf/ndm_bpf_pack.h", "model->hidden <= NDM_BPF_UNITS_FEW",
          "model->hidden <= NDM_BPF_UNITS_MANY", "does not hold"),
    Fault("the loop of few units runs for many", "bpf", "bpf/ndm.bpf.c", "model->network.hidden <= NDM_BPF_UNITS_FEW",
          "model->network.hidden <= NDM_BPF_UNITS_MANY", "does not hold"),
    Fault("a connection begins with another one's state", "bpf", "bpf/ndm.bpf.c",
          "\tmemset(flow, 0, sizeof(*flow));\n", "", "does not hold"),
    Fault("a decision counts twice", "bpf", "bpf/ndm.bpf.c", "\tNDM_COUNT(decisions);\n",
          "\tNDM_COUNT(decisions);\n\tNDM_COUNT(decisions);\n", "does not hold"),
    Fault("the sample of another kernel", "bpf", "bpf/ndm.bpf.c", "NDM_READ_CONTEXT(rs, ctx, 24);",
          "NDM_READ_CONTEXT(rs, ctx, 16);", "null pointer|SEGV"),
    Fault("a section behind the file", "ctl", "ctl/object.c", " && header.sh_offset <= size &&\n\t\t    "
          "header.sh_size <= size - header.sh_offset", "", "does not hold|overflow|SEGV"),
    Fault("a member without a name", "ctl", "ctl/object.c", "if (title && !strcmp(title, name))\n\t\t\treturn",
          "if (!strcmp(title, name))\n\t\t\treturn", "null pointer|SEGV", harmless_from=(1, 3)),
    Fault("a section without a name", "ctl", "ctl/object.c", "if (title && !strcmp(title, name) && header",
          "if (!strcmp(title, name) && header", "null pointer|SEGV"),
    Fault("numbers in the other byte order", "ctl", "ctl/object.c", "if (header->magic != BTF_MAGIC) {", "if (0) {",
          "overflow|SEGV|does not hold"),
    Fault("a changed model", "ctl", "ctl/model.c", "memcmp(digest, data + size - NDM_BLOB_DIGEST, NDM_BLOB_DIGEST)",
          "0", "does not hold"),
    Fault("a signature of nobody", "ctl", "ctl/sign.c", "SIGNATURE_SIZE, data, size) == 1;",
          "SIGNATURE_SIZE, data, size) >= 0;", "does not hold"),
    Fault("a signature that goes on", "ctl", "ctl/sign.c", "if (size != SIGNATURE_SIZE)", "if (size < SIGNATURE_SIZE)",
          "does not hold"),
    Fault("an RTT of any size", "features", "ndm/ndm_features.h", "min_t(u32, rtt_us, NDM_RTT_MAX_US)", "rtt_us",
          "does not hold"),
    Fault("half of an odd count is too few", "features", "ndm/ndm_features.h",
          "\t\tif (m->rtt_count & 1)\n\t\t\tm->rtt_sum_us -= m->rtt_sum_us / m->rtt_count;\n", "", "does not hold"),
    Fault("plasticity without end", "features", "ndm/ndm_features.h", "min_t(u32, plasticity, NDM_ONE)", "plasticity",
          "does not hold"),
    Fault("an interval 1 us late", "features", "ndm/ndm_features.h",
          ">= 0 &&\n\t       now_us - m->start_us >= NDM_INTERVAL_MIN_US",
          ">= 0 &&\n\t       now_us - m->start_us > NDM_INTERVAL_MIN_US", "does not hold"),
    Fault("more idle time than time", "features", "ndm/ndm_features.h", "min_t(u32, idle_us, now_us - m->start_us)",
          "idle_us + 0 * now_us", "does not hold"),
    Fault("a rate divided by no time", "features", "ndm/ndm_features.h",
          "max_t(u32, max_t(u32, length_us, now->sending_us), 1)", "length_us", "division by zero"),
    Fault("a ratio without a limit", "features", "ndm/ndm_features.h",
          "return min_t(u64, div64_u64(a << NDM_FEATURE_FRAC, b), limit);",
          "return div64_u64(a << NDM_FEATURE_FRAC, b);", "does not hold"),
    Fault("undone losses outnumber", "features", "ndm/ndm_features.h", "max_t(s32, now->lost - m->start_lost, 0)",
          "(now->lost - m->start_lost)", "does not hold"),
    Fault("a mark is forgotten", "features", "ndm/ndm_features.h", "m->start_lost, 0) + m->marked;",
          "m->start_lost, 0);", "does not hold"),
    Fault("a mark on top of the most losses that can be", "features", "ndm/ndm_features.h",
          "(u32)max_t(s32, now->lost - m->start_lost, 0)", "max_t(s32, now->lost - m->start_lost, 0)",
          "signed integer overflow"),
    Fault("the minimum RTT is never renewed", "features", "ndm/ndm_features.h",
          "\t\tm->min_rtt_us = m->next_min_rtt_us;\n", "", "does not hold"),
    Fault("an input is not computed", "features", "ndm/ndm_schema.h", "\tNDM_INPUTS,\n",
          "\tNDM_IN_FORGOTTEN,\n\tNDM_INPUTS,\n", "does not hold"),
    Fault("an input past its limit", "features", "ndm/ndm_schema.h", "[NDM_IN_LOSS_RATE] = { 0, 4096 }",
          "[NDM_IN_LOSS_RATE] = { 0, 4095 }", "does not hold"),
    Fault("the bound is less than the smallest window", "law", "ndm/ndm_bound.h", "max(b->limit_fp, kept_fp)",
          "kept_fp", "does not hold"),
    Fault("losses after a mark raise the bound", "law", "ndm/ndm_bound.h",
          "b->limit_fp = ndm_bounded(b, limit_fp);", "b->limit_fp = limit_fp;", "does not hold"),
    Fault("losses after a mark raise the bound after slow start", "law", "ndm/ndm_bound.h",
          "kept_fp = ndm_bounded(b, most_fp);", "kept_fp = most_fp;", "does not hold"),
    Fault("a cut starts from the last one's bound", "law", "ndm/ndm_bound.h",
          "ndm_bound_cut(b, r->now_us, most_fp);", "ndm_bound_cut(b, r->now_us, kept_fp);", "does not hold"),
    Fault("the bound grows at once after a cut", "law", "ndm/ndm_bound.h", "\t\tb->held = NDM_BOUND_ROUNDS;\n", "",
          "does not hold"),
    Fault("the window before a mark is restored", "law", "ndm/ndm_bound.h",
          "ndm_bound_cut(b, now_us, carried_fp);\n\tb->uncut_fp = 0;\n",
          "ndm_bound_cut(b, now_us, carried_fp);\n", "does not hold"),
    Fault("the losses of a contest count after it", "law", "ndm/ndm_bound.h",
          "ndm_bound_sample(b, r->lost, r->delivered);\n\tb->most_us", "b->last_lost = r->lost;\n\tb->most_us",
          "does not hold"),
    Fault("a loss of the round trip before a cut cuts again in contest", "law", "ndm/ndm_bound.h",
          "loss && !b->skip", "loss", "does not hold"),
    Fault("losses are counted in 32 bits", "law", "ndm/ndm_bound.h",
          "u64 lost = (u64)(u32)max_t(s32, r->lost - b->lost, 0);", "u32 lost = max_t(s32, r->lost - b->lost, 0);",
          "does not hold"),
    Fault("the bound grows in 32 bits", "law", "ndm/ndm_bound.h", "((u64)t * t * 11", "((u64)(t * t * 11)",
          "does not hold"),
    Fault("the second cut's window is restored", "law", "ndm/ndm_bound.h", "\t\tif (!b->uncut_fp) {\n", "\t\t{\n",
          "does not hold"),
    Fault("the losses before a cut count again", "law", "ndm/ndm_bound.h", "\tb->skip = congested;\n",
          "\tb->skip = false;\n", "does not hold"),
    Fault("the path's own share is any share", "law", "ndm/ndm_bound.h",
          "min_t(u32, ndm_bound_share(lost, r->carried), NDM_BOUND_OWN_MAX)", "ndm_bound_share(lost, r->carried)",
          "does not hold"),
    Fault("losses at a long queue are the path's own", "law", "ndm/ndm_bound.h", "r->queue_us < b->most_us / 4",
          "r->queue_us <= b->most_us / 4", "does not hold"),
    Fault("losses where no queue was seen are the path's own", "law", "ndm/ndm_bound.h",
          "ndm_is_queue(b->most_us, r->min_rtt_us) && ", "", "does not hold"),
    Fault("fewer findings than none", "law", "ndm/ndm_contest.h", "max_t(s32, c->findings + against, 0)",
          "c->findings + against", "does not hold|truncation|implicit"),
    Fault("a queue that gives way is one of competing flows", "law", "ndm/ndm_contest.h",
          "v->queue_us >= last_us - last_us / 8", "v->queue_us >= last_us / 8", "does not hold"),
    Fault("a contest with a queue that does not grow", "law", "ndm/ndm_contest.h", "(u64)c->first_us + c->first_us / 8",
          "c->first_us / 8", "does not hold"),
    Fault("a loss has emptied the queue", "law", "ndm/ndm_contest.h", "!left && clean", "!left && (clean || !left)",
          "does not hold"),
    Fault("a train's rate without a limit", "law", "ndm/ndm_train.h",
          "min_t(u64, max_t(u64, t->rate, rate), U32_MAX)", "max_t(u64, t->rate, rate)",
          "does not hold|truncation|implicit"),
    Fault("the last interval's trains do not count", "law", "ndm/ndm_train.h", "max(t->rate, t->last_rate)", "t->rate",
          "does not hold"),
    Fault("one sign of a queue ends slow start", "law", "ndm/ndm_slow_start.h", "(queue && phase == NDM_CONFIRMING)",
          "queue", "does not hold"),
    Fault("slow start grows past 32 bits", "law", "ndm/ndm_slow_start.h", "min(acked, NDM_CWND_MAX - 1)", "acked",
          "does not hold"),
    Fault("a window after slow start past 32 bits", "law", "ndm/ndm_slow_start.h", "2ULL * cwnd_fp", "2 * cwnd_fp",
          "does not hold"),
    Fault("a queue over no RTT", "law", "ndm/ndm_window.h",
          "div_u64((u64)queue_us << 16, max_t(u32, explained_us, 1))", "div_u64((u64)queue_us << 16, explained_us)",
          "division by zero"),
    Fault("the root of a long queue wraps", "law", "ndm/ndm_window.h", "U32_MAX - (1 << 13));", "U32_MAX);",
          "does not hold"),
    Fault("the action does not count", "law", "ndm/ndm_window.h", "ndm_exp2(growth)", "(65536 + 0 * growth)",
          "does not hold"),
    Fault("the window of an empty path grows in 32 bits", "law", "ndm/ndm_window.h",
          "(u64)cwnd_fp * (NDM_EMPTY - ratio)", "cwnd_fp * (NDM_EMPTY - ratio)", "does not hold"),
    Fault("what is added does not run down with the queue", "law", "ndm/ndm_window.h",
          "div64_u64((cwnd_fp + added_fp) *", "added_fp + div64_u64((u64)cwnd_fp *", "does not hold"),
    Fault("the mean RTT of a burst is a queue", "law", "ndm/ndm_drain.h", "(mean_us - min(mean_us, least_us)) / 2",
          "0 * least_us", "does not hold"),
    Fault("a queue that has grown is answered again", "law", "ndm/ndm_drain.h", "\t\trtt_us = min(rtt_us, last_us);\n",
          "\t\t;\n", "does not hold"),
    Fault("a queue of a thirty-second is none", "law", "ndm/ndm_drain.h",
          "explained_us) >= NDM_EMPTY)\n\t\trtt_us", "explained_us) > NDM_EMPTY)\n\t\trtt_us", "does not hold"),
    Fault("an RTT that varies is a queue", "law", "ndm/ndm_drain.h", "noise_us = variation > 2 * NDM_DRAIN_STEADY ?",
          "noise_us = variation > 3 * NDM_DRAIN_STEADY ?", "does not hold"),
    Fault("a flow joins the fall of its own queue", "law", "ndm/ndm_drain.h", "(u64)v->rtt_us + v->shrunk_us",
          "v->rtt_us", "does not hold"),
    Fault("a drain leaves one packet", "law", "ndm/ndm_drain.h", "min_t(u64, kept + 1, NDM_CWND_MAX)",
          "min_t(u64, kept, NDM_CWND_MAX)", "does not hold"),
    Fault("a flow joins a drain too late", "law", "ndm/ndm_drain.h",
          "return d->decisions >= NDM_DRAIN_SOON / 2 && fall_us", "return d->decisions >= NDM_DRAIN_SOON && fall_us",
          "does not hold"),
    Fault("a flow in contest joins each cut of others", "law", "ndm/ndm_drain.h", "(v->contest ? queue_us / 2",
          "(v->contest ? queue_us / 4", "does not hold"),
    Fault("a longer route is believed at once", "features", "ndm/ndm_drain.h",
          "more_us - less_us <= less_us / 64", "more_us - less_us <= less_us", "does not hold"),
    Fault("a drain that cannot begin is due no more", "law", "ndm/ndm_drain.h", "if (d->wait > 1)", "if (d->wait)",
          "does not hold"),
    Fault("a young flow drains only where it sees a queue", "law", "ndm/ndm_drain.h",
          "v->decision < NDM_DRAIN_EVERY", "0", "does not hold"),
    Fault("the first drain comes at once", "law", "ndm/ndm_drain.h",
          "return d->decisions >= NDM_DRAIN_SOON;", "return true;", "does not hold"),
    Fault("a flow joins its own slow start", "law", "ndm/ndm_drain.h", "NDM_DRAIN_SOON - 3);", "NDM_DRAIN_SOON - 2);",
          "does not hold"),
    Fault("the wait has no limit", "features", "ndm/ndm_features.h", "8ULL * m->min_rtt_us);", "U32_MAX);",
          "does not hold"),
    Fault("a drain is divided by no time", "law", "ndm/ndm_drain.h", "max_t(u32, d->before_us, 1)", "d->before_us",
          "division by zero"),
    Fault("ssthresh under its floor", "nv", "nv/nv.h", "NV_SSTHRESH_MIN)", "NV_SSTHRESH_MIN - 1)", "does not hold"),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{fault.target}: {fault.name}" for fault in FAULTS])
def test_a_fault_on_purpose_is_reported(copy: Path, fault: Fault) -> None:
    header = copy / "kernel" / fault.header
    text = header.read_text()
    assert text.count(fault.right) == 1, f"{fault.header} has changed: this fault must be put in anew"
    header.write_text(text.replace(fault.right, fault.wrong))
    # most faults show in the corpus: to compile takes longer than to run
    done = fuzz(fault.target, copy, 10 * RUNS, "-O2" if fault.harmless_from else "-O0")
    if fault.harmless_from and libbpf_version() >= fault.harmless_from:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode != 0, "nothing was found"
    assert any(sign in done.stderr for sign in fault.sign.split("|")), done.stderr
    assert list((copy / "build" / "fuzz").glob(f"{fault.target}-*")), "the input is kept"
