"""A comparison from Python: data frames of its runs, a time series, and a figure."""

from pathlib import Path
from tempfile import mkdtemp

from compare import compare

result = compare("loss/1pct", ["ndm", "cubic"], seeds=3, duration_s=5, output_dir=mkdtemp())
goodput = result.runs[result.runs.metric == "goodput"]
print(goodput.pivot_table(index="seed", columns="scheme", values="value").round(1).to_string())

series = result.series("ndm", seed=2)
print(f"the window of NDM goes from {series.cwnd.iloc[0]:.0f} to {series.cwnd.max():.0f} packets")

Path(result.folder, "plot.html").write_text(result.plot().to_html())
