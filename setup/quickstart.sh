#!/usr/bin/env bash
# From a fresh checkout to a report. Run it again after an interruption: it skips the steps that are complete.
# TRAIN_ARGS: further options of train.py, such as algo.total_decisions=5000.
set -euo pipefail
cd "$(dirname "$0")/.."
run=runs/quickstart

step() { printf '\n== %s/6  %s\n' "$1" "$2"; }

step 1 "set up: packages, .venv"
make --no-print-directory setup
step 2 "lab kernel: user-mode Linux in virtual time, and its modules"
make --no-print-directory module
step 3 "train a small model on the 20 Mbit/s, 40 ms bottleneck"
if [ -f "$run/finished" ]; then
	echo "$run is trained already; delete it to train again"
else
	if [ -f "$run/checkpoint.pt" ]; then
		.venv/bin/python train.py "resume=$run"
	else
		rm -rf "$run" # interrupted before its first checkpoint
		.venv/bin/python train.py profile=bottleneck name=quickstart debug=quick ${TRAIN_ARGS-}
	fi
	touch "$run/finished"
fi
step 4 "export it: int16 weights as a C header, ONNX, golden vectors"
make --no-print-directory export-weights RUN=$run
step 5 "rebuild the kernel module with it"
make --no-print-directory module
step 6 "compare it in the lab"
.venv/bin/python compare.py scenario=bottleneck "schemes=[ndm,reno,cubic,bbr]" seeds=3
cat <<'END'

The scheme ndm is now the model of this quickstart. The shipped one comes back with: make module MODELS=mixed
Next: docs/tutorial.md
END
