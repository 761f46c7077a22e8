"""How `make -C studies bench-kernel` reads machine code and callgrind's files."""

from __future__ import annotations

from studies.kernel_cost import decision, instructions


def test_a_jump_is_no_nop() -> None:
    assert decision.is_nop("0f 1f 44 00 00")
    assert decision.is_nop("66 90 48 89 e5")
    assert not decision.is_nop("e9 10 00 00 00")
    assert not decision.is_nop("eb 10 48 89 e5")


def test_callgrind_callees_are_summed_by_caller() -> None:
    first = "fn=(1) a\n0 5\ncfn=(2) b\ncalls=3 0\n0 70\ncfn=(3) c\ncalls=1 0\n0 9\n"
    text = first + "\nfn=(2)\n0 60\ncfn=(3)\ncalls=2 0\n0 4\n"
    assert instructions.callees(text) == {"a": (4, 79), "b": (2, 4)}
