#!/usr/bin/env bash
# From a fresh checkout to a report. Run it again after an interruption: it skips the steps that are complete.
# Training and report are in runs/ and results/ of the current folder.
# TRAIN_ARGS: further options of train.py, such as algo.total_decisions=5000. NDM_PYTHON: a Python that has the packages.
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
python=${NDM_PYTHON:-$tree/.venv/bin/python}
run=runs/quickstart
export PYTHONPATH=$tree

step() { printf '\n== %s/6  %s\n' "$1" "$2"; }
in_tree() { make --no-print-directory -C "$tree" "$@"; }

step 1 "set up: packages of the distribution"
/usr/bin/python3 "$tree/setup/packages.py" # also where make is missing
step 2 ".venv; at the same time the lab kernel, user-mode Linux in virtual time, and its modules"
in_tree -j2 .venv/installed module
step 3 "train a small model on the 20 Mbit/s, 40 ms bottleneck"
if [ -f "$run/finished" ]; then
	echo "$run is trained already; delete it to train again"
else
	if [ -f "$run/checkpoint.pt" ]; then
		"$python" "$tree/train.py" "resume=$run"
	else
		rm -rf "$run" # interrupted before its first checkpoint
		"$python" "$tree/train.py" profile=bottleneck name=quickstart debug=quick ${TRAIN_ARGS-}
	fi
	touch "$run/finished"
fi
step 4 "export it: int16 weights as a C header, ONNX, golden vectors"
"$python" -P -m export --run "$run"
step 5 "rebuild the kernel module with it"
in_tree module
step 6 "compare it in the lab"
"$python" "$tree/compare.py" scenario=bottleneck "schemes=[ndm,reno,cubic,bbr]" seeds=3
cat <<'END'

The scheme ndm is now the model of this quickstart. The shipped one comes back with: make module MODEL=mixed
Next: docs/tutorial.md
END
