#!/bin/sh
# The part of an image that needs root: the distribution's packages, and the user. packaging/hosts/chroot.sh runs it too.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install --yes --no-install-recommends ca-certificates git make python3
/usr/bin/python3 "$(dirname "$0")/../../setup/packages.py"
rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
id ndm >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ndm
