#!/bin/sh
# setup/pytorch.sh PYTHON: install the version of PyTorch that requirements.txt names, without CUDA where that can be had
#
# PyPI's build for amd64 brings 3 GB of CUDA, and the networks of this project are too small for a GPU. PyTorch's own index
# has the build without. Where it cannot be reached, PyPI's follows with requirements.txt. TORCH_INDEX= names another index.
set -eu
cd "$(dirname "$0")/.."
python=$1
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
torch=$(grep '^torch==' requirements.txt)
"$python" -m pip show torch 2>/dev/null | grep -q "^Version: ${torch#torch==}\(+\|$\)" && exit
"$python" -m pip install --disable-pip-version-check --quiet --no-deps --retries 0 --timeout 15 --index-url "$index" "$torch" \
	2>/dev/null || echo "setup: $index has no $torch for this Python, or cannot be reached: PyPI's comes, 3 GB with CUDA"
