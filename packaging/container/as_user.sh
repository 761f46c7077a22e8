#!/bin/sh
# The part of an image that an ordinary user makes: Python's packages, the lab kernel and its modules.
set -eu
cd "$(dirname "$0")/../.."
export PIP_NO_CACHE_DIR=1
make setup module
