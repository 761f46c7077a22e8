"""The schemes that can be compared: the one table of names, labels, colours and markers."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from compare.errors import CompareError

MODEL_SEPARATOR = "@"  # ndm@runs/NAME: the scheme with another model than the one in the module


@dataclass(frozen=True)
class Scheme:
    """A congestion control under test.

    name: as given on the command line and written to every file. algorithm: its name in the kernel. module: the module
    of build/modules/lab that has it, empty for those of the lab kernel. model: run or checkpoint in place of the model
    in the module, empty otherwise.
    """

    name: str
    label: str
    algorithm: str
    colour: str
    marker: str
    module: str = ""
    model: str = ""


# Colours of Okabe and Ito (2008) and Tol's muted set (2021), chosen to differ for every kind of colour vision and to
# be seen on white and on black; the markers differ too, so that no picture needs its colours.
SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("ndm", "NDM", "ndm", "#d55e00", "*", module="tcp_ndm"),
        Scheme("cubic", "Cubic", "cubic", "#0072b2", "s"),
        Scheme("reno", "Reno", "reno", "#56b4e9", "o"),
        Scheme("bbr", "BBR", "bbr", "#009e73", "^"),
        Scheme("nv", "TCP-NV", "nv", "#785ef0", "H", module="tcp_nv"),
        Scheme("cdg", "CDG", "cdg", "#e69f00", "D"),
        Scheme("vegas", "Vegas", "vegas", "#cc79a7", "v"),
        Scheme("westwood", "Westwood+", "westwood", "#999933", "P"),
        Scheme("illinois", "Illinois", "illinois", "#aa4499", "X"),
        Scheme("ndm_v1", "NDM v1", "ndm_v1", "#b2abd2", "8", module="tcp_ndm_v1"),
        Scheme("dctcp", "DCTCP", "dctcp", "#888888", "h"),
    )
}
# Further models of NDM take these in order.
MODEL_LOOKS = (("#a63603", "p"), ("#fd8d3c", "d"), ("#8c2d04", "<"), ("#fdae6b", ">"))


def find_schemes(names: list[str]) -> list[Scheme]:
    """Return the schemes of these names, in order.

    Raises CompareError for an empty list, an unknown name (with near matches), a name given twice.
    """
    if not names:
        raise CompareError(f"schemes is empty; choose from {', '.join(SCHEMES)} or ndm{MODEL_SEPARATOR}RUN")
    found: list[Scheme] = []
    models = 0
    for name in names:
        if name in (scheme.name for scheme in found):
            raise CompareError(f"scheme {name!r} is given twice; each one is run once per scenario and seed")
        base, separator, model = name.partition(MODEL_SEPARATOR)
        if not separator:
            found.append(_known(name))
            continue
        if base != "ndm" or not model:
            raise CompareError(
                f"scheme {name!r} is unknown: only ndm takes a model, as ndm{MODEL_SEPARATOR}runs/NAME or "
                f"ndm{MODEL_SEPARATOR}checkpoint.pt"
            )
        colour, marker = MODEL_LOOKS[models % len(MODEL_LOOKS)]
        models += 1
        found.append(Scheme(name, f"NDM {model.removeprefix('runs/')}", "ndm", colour, marker, "tcp_ndm", model))
    return found


def _known(name: str) -> Scheme:
    scheme = SCHEMES.get(name)
    if scheme is None:
        near = difflib.get_close_matches(name, SCHEMES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise CompareError(
            f"scheme {name!r} is unknown: {hint}The schemes are {', '.join(SCHEMES)}, and "
            f"ndm{MODEL_SEPARATOR}runs/NAME or ndm{MODEL_SEPARATOR}checkpoint.pt for another model."
        )
    return scheme
