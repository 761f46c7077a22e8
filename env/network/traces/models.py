"""Models of links whose rate varies: what a generated trace is like, stated before it is generated.

The shapes are those of published measurements. The numbers are of the size that these papers report; they were chosen
here and not fitted to a recording. A generated trace has the numbers that its model states (generate.py),
so that a scenario on it can be described by them.

lte       A Poisson process of deliveries whose rate wanders, with outages: K. Winstein, A. Sivaraman, H. Balakrishnan,
          "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013, section 3.1.
          There the rate is a Brownian motion; here its logarithm returns to a mean, so that the trace has one.
5g        As lte, faster, and blocked now and then for about a second as millimetre waves are: A. Narayanan et al.,
          "Lumos5G: Mapping and Predicting Commercial mmWave 5G Throughput", IMC 2020.
starlink  A level that is drawn anew every 15 s, when the terminals are given their satellites anew, with a short
          interruption there, and faster changes around it: N. Mohan et al., "A Multifaceted Look at Starlink
          Performance", WWW 2024, section 5; H. B. Tanveer et al., "Making Sense of Constellations", CoNEXT 2023
          companion.
wifi      Deliveries come in aggregates, a burst for each access to the channel, at the rate that the distance and the
          other stations leave: T. Høiland-Jørgensen et al., "Ending the Anomaly: Achieving Low Latency and Airtime
          Fairness in WiFi", USENIX ATC 2017, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


class ModelError(ValueError):
    """A model that no trace can follow; the message names the bad value and the right ones."""


@dataclass(frozen=True)
class Model:
    """What a trace is to be like. Rates are of 1500-byte packets, in windows of 100 ms.

    mean_mbps, deviation_mbps: of the rate. correlation_s: where its autocorrelation falls below 1/e. outages_per_min:
    times without delivery, outage_s long on average and 0.1 s at least; with handover_s they are the handovers', one
    each, and this is 0. handover_s: the level is drawn anew so often (0: never). level_share: of the variance, that
    of the levels. burst_ms: mean time between the instants at which what has become due is delivered (0: each packet
    by itself).
    """

    mean_mbps: float
    deviation_mbps: float
    correlation_s: float
    outages_per_min: float = 0.0
    outage_s: float = 0.0
    handover_s: float = 0.0
    level_share: float = 0.0
    burst_ms: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("mean_mbps", 0.5, 2000.0),
            ("deviation_mbps", 0.0, 2000.0),
            ("correlation_s", 0.1, 60.0),
            ("outages_per_min", 0.0, 60.0),
            ("outage_s", 0.0, 10.0),
            ("handover_s", 0.0, 600.0),
            ("level_share", 0.0, 1.0),
            ("burst_ms", 0.0, 90.0),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ModelError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}")
        if self.deviation_mbps > 2 * self.mean_mbps:
            raise ModelError(
                f"deviation_mbps is {self.deviation_mbps:g}; it must not exceed twice mean_mbps, {self.mean_mbps:g}"
            )
        if (self.outages_per_min or self.handover_s) and self.outage_s < 0.1:
            raise ModelError(f"outage_s is {self.outage_s:g}; an outage lasts 0.1 s at least")
        if self.outages_per_min and self.handover_s:
            raise ModelError("outages_per_min is for links without handover_s, whose outages are at the handovers")
        if self.level_share and not self.handover_s:
            raise ModelError("level_share is for links with handover_s, at which the level changes")


# What `python -m env.network.traces generate KIND` begins with.
KINDS = {
    "lte": Model(mean_mbps=12, deviation_mbps=7, correlation_s=1.5, outages_per_min=2, outage_s=0.4),
    "5g": Model(mean_mbps=120, deviation_mbps=70, correlation_s=0.8, outages_per_min=4, outage_s=0.6),
    "starlink": Model(mean_mbps=90, deviation_mbps=30, correlation_s=2.5, handover_s=15, outage_s=0.2, level_share=0.5),
    "wifi": Model(mean_mbps=40, deviation_mbps=14, correlation_s=0.6, burst_ms=4),
}


@dataclass(frozen=True)
class Entry:
    """A trace that comes with the project: how it was generated."""

    kind: str
    model: Model
    seconds: int
    seed: int
    what: str


# train/ may be learned on; held_out/ is for judging what was learned, and no profile may name it. The two differ in
# numbers and seeds.
CATALOGUE = {
    "train/lte-driving": Entry(
        *("lte", Model(9, 6, 1.2, outages_per_min=3, outage_s=0.5), 60, 101), "a car in town, with outages"
    ),
    "train/lte-stationary": Entry("lte", Model(18, 5, 2.5), 60, 102, "at a desk"),
    "train/5g-walking": Entry(
        *("5g", Model(80, 45, 0.8, outages_per_min=4, outage_s=0.5), 30, 103), "on foot, blocked at times"
    ),
    "train/starlink": Entry(
        *("starlink", Model(60, 20, 2.5, handover_s=15, outage_s=0.2, level_share=0.5), 60, 104),
        "a handover every 15 s",
    ),
    "train/wifi": Entry("wifi", Model(40, 14, 0.6, burst_ms=4), 30, 105, "aggregates, other stations about"),
    "held_out/lte-walking": Entry(
        *("lte", Model(12, 7, 1.5, outages_per_min=2, outage_s=0.4), 60, 201), "on foot, with outages"
    ),
    "held_out/lte-train": Entry(
        *("lte", Model(6, 5, 0.8, outages_per_min=5, outage_s=0.7), 60, 202), "a train: slow, and often out of reach"
    ),
    "held_out/5g-driving": Entry(
        *("5g", Model(110, 75, 0.6, outages_per_min=6, outage_s=0.6), 30, 203), "a car: fast changes, often blocked"
    ),
    "held_out/starlink": Entry(
        *("starlink", Model(90, 30, 2.5, handover_s=15, outage_s=0.25, level_share=0.5), 60, 204),
        "a handover every 15 s",
    ),
    "held_out/wifi": Entry("wifi", Model(25, 12, 0.4, burst_ms=6), 30, 205, "at the edge of reach"),
}

MODEL_FIELDS = tuple(field.name for field in fields(Model))
