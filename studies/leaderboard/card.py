"""Write the cards of the models of the zoo, datasets/models/NAME/README.md::

    python -m studies.leaderboard.card             # all cards
    python -m studies.leaderboard.card --check     # only name those that are not up to date

A card is a model card of Hugging Face: YAML with the results, then the text. Everything in it comes from files:
about.yaml (use and limits, by hand), card.json and report.json (training, proofs), policy.bin, and the stored scores of
the leaderboard. Scores count only if they are of these weights.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from env.files import generate, sha256
from env.markdown import markdown_table
from export.checks.certificate import Certificate
from export.checks.certificate import table as certificate_rows
from export.checks.proof import prove
from export.formats.blob import read_blob
from export.integer.model import ExportError
from export.zoo import ZOO, zoo_names
from studies.leaderboard.stored_scores import Figure, Score, read_figures, read_scores

COMMAND = "python -m studies.leaderboard.card"
FILE_NAME = "README.md"
BASELINES = ("ndm@mixed", "ndm@rules/searched_neuron.yaml", "reno", "cubic", "bbr")
TASK = {"type": "reinforcement-learning", "name": "TCP congestion control"}
# of the folder, in the order of the card
CONTENTS = {
    "checkpoint.pt": "policy, critic and optimizer, in float",
    "policy.onnx": "the float policy, with its state as input and output",
    "policy.bin": "the int16 model, as the kernel loads it",
    "golden.json": "golden vectors of the int16 model",
    "config.yaml": "the whole configuration of the training",
    "card.json": "the facts of the training, for programs",
    "report.json": "how far int16 and float differ; the certificates",
}


@dataclass(frozen=True)
class Model:
    """What the files of a model say."""

    name: str
    folder: Path
    about: dict[str, Any]
    training: dict[str, Any]
    report: dict[str, Any]

    @classmethod
    def read(cls, name: str, zoo: Path = ZOO) -> Model:
        """Read the files of a model. Raises ExportError for one that is missing."""
        folder = zoo / name
        try:
            about = yaml.safe_load((folder / "about.yaml").read_text())
            training, report = (json.loads((folder / file).read_text()) for file in ("card.json", "report.json"))
        except OSError as error:
            raise ExportError(f"the card of {name} needs {error.filename}: {error.strerror}") from error
        return cls(name, folder, about, training, report)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the weights."""
        return str(self.report["provenance"]["sha256"])

    def scores(self, stored: Sequence[Score]) -> list[Score]:
        """Return the scores of these weights. The module's own model is `ndm`, whatever its name."""
        own = [score for score in stored if score.model_sha256 == self.sha256]
        return sorted({score.target: score for score in own}.values(), key=lambda score: score.target)


def metadata(model: Model, scores: Sequence[Score], figures: Sequence[Figure]) -> dict[str, Any]:
    """Return the card's front matter. scores: of this model. figures: of all schemes."""
    results = [
        {
            "task": dict(TASK),  # a copy: YAML writes one dictionary twice as a reference
            "dataset": {"name": f"NDM-TCP target {score.target}", "type": f"ndm-tcp/{score.target}"},
            "metrics": [*_metrics(score, figures)],
        }
        for score in scores
    ]
    return {
        "license": "gpl-2.0",
        "library_name": "ndm-tcp",
        "tags": ["reinforcement-learning", "congestion-control", "tcp", "linux-kernel", "onnx"],
        "model-index": [{"name": f"ndm-tcp-{model.name}", "results": results}],
    }


def _metrics(score: Score, figures: Sequence[Figure]) -> Iterator[dict[str, Any]]:
    """Yield the joint score of a target, then the figures of its requirements: mean +/- standard deviation."""
    yield _metric("joint_score", f"joint score, {score.seeds} seeds", score.score, score.sd)
    for figure in figures:
        if (figure.target, figure.scheme) == (score.target, score.scheme) and figure.mean is not None:
            unit = f", {figure.unit}" if figure.unit else ""
            yield _metric(
                figure.requirement, f"{figure.requirement} in {figure.scenario}{unit}", figure.mean, figure.sd
            )


def _metric(kind: str, name: str, mean: float, deviation: float | None) -> dict[str, Any]:
    value: float | str = float(f"{mean:.4g}") if deviation is None else f"{mean:.4g} +/- {deviation:.2g}"
    return {"type": kind, "name": name, "value": value}


def render(name: str, zoo: Path = ZOO) -> str:
    """Return the text of a model's card. Raises ExportError for a file that is missing or damaged."""
    model, stored, figures = Model.read(name, zoo), read_scores(), read_figures()
    scores = model.scores(stored)
    front = yaml.safe_dump(metadata(model, scores, figures), sort_keys=False, allow_unicode=True, width=120)
    parts = [
        f"---\n{front}---",
        f"# {name}",
        f"<!-- Generated by `{COMMAND}`; do not edit. -->",
        str(model.about["summary"]),
        _how_to_use(name),
        _list("Intended use", model.about["use"]),
        _list("Limits", model.about["limits"]),
        _training(model),
        _results(scores, stored),
        _proofs(model),
        _files(model),
    ]
    return "\n\n".join(parts) + "\n"


def _how_to_use(name: str) -> str:
    return "\n".join(
        [
            f"    python compare.py scenario=bottleneck schemes=[ndm@{name},cubic,bbr]   # beside others, in the lab",
            f"    make module MODELS={name}                                             # in the module, as ndm",
            f"    ndmctl use {name}                                                     # in the BPF program",
        ]
    )


def _list(title: str, items: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {item}" for item in items)])


def _training(model: Model) -> str:
    training, provenance = model.training, model.report["provenance"]
    paths = [_path(text) for text in str(provenance["envelope"]).split("; ")]
    commands = [f"    {command}" for command in training["commands"]]
    return "\n".join(
        [
            "## Training",
            "",
            *commands,
            "",
            f"Seed {training['config']['seed']}: {training['decisions']:,} decisions in {training['wall_s'] / 60:.1f} "
            f"minutes of wall time and {training['virtual_s'] / 3600:.1f} hours of virtual time, the sum over all "
            f"connections. Sources {training['git_revision'][:7]}, lab kernel {training['lab']['release']}. "
            "[card.md](card.md) has the learning curve and the last metrics, [config.yaml](config.yaml) the whole "
            "configuration.",
            "",
            markdown_table(["paths", "drawn from"], paths),
        ]
    )


def _path(text: str) -> list[str]:
    name, separator, ranges = text.partition(": ")
    return [name, ranges.replace("|", ", ")] if separator else [text, "the published test"]


def _results(scores: Sequence[Score], stored: Sequence[Score]) -> str:
    lines = ["## Results", ""]
    if not scores:
        hint = "These weights are not on the leaderboard: `python -m studies.leaderboard enter` measures them."
        return "\n".join([*lines, hint])
    first, names = scores[0], {score.scheme: score.label for score in stored}
    others = [name for name in BASELINES if name != first.scheme and name in names]
    heads = ["target", "this model", "met", *(names[name] for name in others), "best other"]
    return "\n".join(
        [
            *lines,
            f"    python -m studies.leaderboard enter {first.scheme}",
            "",
            "Joint scores, from -1 to 0.25 where 0 is the threshold, and their 95 % intervals over the seeds. NDM "
            "rules/searched_neuron is the best rule of a few numbers; the best other is the best scheme that is not "
            "NDM. [The leaderboard](../../../docs/results/leaderboard.md) has all schemes and says how it judges; the "
            f"figures are in the data above. Lab kernel {first.kernel}, {first.date}, sources {first.revision[:7]}, "
            f"{first.seeds} seeds or what the target asks for.",
            "",
            markdown_table(heads, [_beside(score, others, stored) for score in scores]),
        ]
    )


def _beside(score: Score, others: Sequence[str], stored: Sequence[Score]) -> list[str]:
    """Return the row of a target: this model, the others, and the best scheme that has no weights of NDM's."""
    on_target = {other.scheme: other for other in stored if other.target == score.target}
    best = max((other for other in on_target.values() if not other.model_sha256), key=lambda other: other.score)
    beside = [on_target[name].text() if name in on_target else "–" for name in others]
    met = f"{score.met} of {score.requirements}"
    return [f"`{score.target}`", score.text(), met, *beside, f"{best.label} {best.score:.3f}"]


def _proofs(model: Model) -> str:
    integer, _ = read_blob((model.folder / "policy.bin").read_bytes(), model.name)
    proof, report = prove(integer), model.report
    certificates = [Certificate(**one) for one in report["certificates"]]
    head, rows = certificate_rows(certificates)
    agreement = [
        [
            row["inputs"],
            f"{row['mean_error_pct']:.4f}",
            f"{row['max_error_pct']:.4f}",
            f"{row['sign_agreement_pct']:.3f}",
        ]
        for row in report["agreement"]
    ]
    return "\n".join(
        [
            "## Proofs",
            "",
            f"    python -m export.verify_model {model.name}",
            "",
            f"No accumulator exceeds {proof.accumulator:,} (2^{proof.accumulator.bit_length()}), whatever the inputs "
            "and the state; the outputs lie in -1 to 1 ([proof](../../../docs/explanation/proof.md)). What the network "
            "asks for by itself, in shares of all inputs and states:",
            "",
            markdown_table(head, rows),
            "",
            "int16 against float, in % of the output range:",
            "",
            markdown_table(["inputs", "mean error", "largest error", "same sign, %"], agreement, left=1),
        ]
    )


def _files(model: Model) -> str:
    rows = [
        [f"[{name}]({name})", text, f"`{sha256(model.folder / name)}`"]
        for name, text in CONTENTS.items()
        if (model.folder / name).is_file()
    ]
    return "\n".join(
        [
            "## Files",
            "",
            f"SHA-256 of the weights, which the module shows too: `{model.sha256}`.",
            "",
            markdown_table(["file", "content", "SHA-256"], rows),
        ]
    )


def cards(zoo: Path = ZOO) -> dict[Path, Callable[[], str]]:
    """Return the function that makes the text of each card, by its file."""
    return {zoo / name / FILE_NAME: partial(render, name, zoo) for name in zoo_names(zoo)}


if __name__ == "__main__":
    try:
        sys.exit(generate(COMMAND, cards(), sys.argv[1:]))
    except ExportError as error:
        sys.exit(f"studies.leaderboard.card: {error}")
