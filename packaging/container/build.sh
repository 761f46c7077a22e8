#!/bin/sh
# Build the image of the last commit with podman, docker or buildah, whichever is there first.
#
#     packaging/container/build.sh [--tag NAME] [option of `podman build`]...
#
# ENGINE= names the program. --build-arg BASE=IMAGE takes another Debian or Ubuntu.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
for engine in ${ENGINE:-podman docker buildah}; do
	path=$(command -v "$engine") && break
done
if [ -z "${path-}" ]; then
	echo "container: ${ENGINE:-podman, docker or buildah} is missing: apt-get install podman" >&2
	exit 1
fi
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT INT TERM
# committed files only, and no history: revision and state of the clone go into what is trained inside
git clone --quiet --depth 1 "file://$root" "$context/ndm-tcp"
"$engine" build --tag "ndm-tcp:$(cat "$root/kernel/VERSION")" --file "$context/ndm-tcp/packaging/container/Containerfile" \
	"$@" "$context/ndm-tcp"
