"""Models of links with a varying rate. A model states the statistics of the traces that are generated from it.

The form of each model follows published measurements. Its parameters are of the magnitude that these papers report;
except for lte-driving, they were chosen here and not fitted to a recording. A generated trace has the statistics of its
model, within the tolerances of generate.py, so they describe a scenario that uses the trace.

lte       A Poisson process of deliveries whose rate wanders, with outages: K. Winstein, A. Sivaraman, H. Balakrishnan,
          "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013, section 3.1.
          There the rate is a Brownian motion; here its logarithm reverts to a mean, so that the trace has one.
lte-driving
          As lte, with the statistics of recordings in cars, which have more and shorter outages and deliver in bursts:
          mean, deviation over mean, correlation time, outages and their length are medians of four recordings of the
          authors of Sprout (the same paper; docs/results/lab.md), and burst_ms gives as many gaps of 20 ms.
5g        As lte, but faster, with blockages of about a second as on millimetre waves: A. Narayanan et al.,
          "Lumos5G: Mapping and Predicting Commercial mmWave 5G Throughput", IMC 2020.
starlink  A new level every 15 s, when terminals are assigned to satellites again, with a short interruption at each
          handover and faster changes around the level: N. Mohan et al., "A Multifaceted Look at Starlink
          Performance", WWW 2024, section 5; H. B. Tanveer et al., "Making Sense of Constellations", CoNEXT 2023
          companion.
wifi      Packets are delivered in aggregates, one burst per access to the channel, at a rate that depends on distance
          and on other stations: T. Høiland-Jørgensen et al., "Ending the Anomaly: Achieving Low Latency and Airtime
          Fairness in WiFi", USENIX ATC 2017, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from env.errors import UserError


@dataclass(frozen=True)
class Model:
    """The statistics of a trace. Rates count 1500-byte packets in windows of 100 ms.

    mean_mbps, deviation_mbps: mean and standard deviation of the rate. correlation_s: lag at which its autocorrelation
    falls below 1/e. outages_per_min: outages, of outage_s on average and at least 0.1 s; 0 with handover_s, where each
    handover has one outage. handover_s: time between two handovers, each of which draws a new level (0: no handovers).
    level_share: share of the variance that the levels cause. burst_ms: mean time between two deliveries of all packets
    that are due (0: every packet is delivered when it is due).
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
                raise UserError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}")
        if self.deviation_mbps > 2 * self.mean_mbps:
            raise UserError(
                f"deviation_mbps is {self.deviation_mbps:g}; it must not exceed twice mean_mbps, {self.mean_mbps:g}"
            )
        if (self.outages_per_min or self.handover_s) and self.outage_s < 0.1:
            raise UserError(f"outage_s is {self.outage_s:g}; an outage lasts 0.1 s at least")
        if self.outages_per_min and self.handover_s:
            raise UserError("outages_per_min is for links without handover_s, whose outages are at the handovers")
        if self.level_share and not self.handover_s:
            raise UserError("level_share is for links with handover_s, at which the level changes")


# Default models of `python -m env.network.traces generate KIND`.
KINDS = {
    "lte": Model(mean_mbps=12, deviation_mbps=7, correlation_s=1.5, outages_per_min=2, outage_s=0.4),
    "lte-driving": Model(
        mean_mbps=5.1, deviation_mbps=3.6, correlation_s=3.0, outages_per_min=11, outage_s=0.25, burst_ms=4
    ),
    "5g": Model(mean_mbps=120, deviation_mbps=70, correlation_s=0.8, outages_per_min=4, outage_s=0.6),
    "starlink": Model(mean_mbps=90, deviation_mbps=30, correlation_s=2.5, handover_s=15, outage_s=0.2, level_share=0.5),
    "wifi": Model(mean_mbps=40, deviation_mbps=14, correlation_s=0.6, burst_ms=4),
}


@dataclass(frozen=True)
class Entry:
    """The recipe of one of the project's traces. what: a description of the link."""

    kind: str
    model: Model
    seconds: int
    seed: int
    what: str


# Profiles may use only train/; held_out/ is for the evaluation of trained policies. The two differ in parameters and
# seeds.
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
