#!/bin/sh
# packaging/debian/build.sh OUTPUT: build the Debian packages, source and binary, into OUTPUT, and check them with lintian
#
# The source package has what the packages are built from, as it is in this tree, and no exported models. Its version is
# that of kernel/VERSION. Its date, and that of every file in the packages, is SOURCE_DATE_EPOCH, by default the time of
# the commit, or of kernel/VERSION where there is no git: two builds of a tree give the same bytes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
name=ndm-tcp
version=$(cat "$root/kernel/VERSION")
out=${1:?usage: packaging/debian/build.sh OUTPUT}

die() { echo "packaging/debian/build.sh: $1" >&2; exit 1; }
echo "$version" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+' || die "kernel/VERSION is $version, not three numbers such as 1.0.0"
for tool in dpkg-buildpackage dh dh_dkms clang lintian; do
	command -v $tool >/dev/null || die "$tool is missing: run setup/packages.py deb"
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/kernel/VERSION")}
export SOURCE_DATE_EPOCH
unset NDM_MODEL_BUILD

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
tree=$work/$name-$version
mkdir "$tree"
tar -C "$root" --exclude=__pycache__ -c Makefile LICENSE kernel datasets/models | tar -C "$tree" -x
cp -R "$here" "$tree/debian"
rm "$tree/debian/build.sh"
maintainer=$(sed -n 's/^Maintainer: //p' "$here/control")
cat >"$tree/debian/changelog" <<END
$name ($version) unstable; urgency=medium

  * Release $version.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
chmod -R u=rwX,go=rX "$tree"

(cd "$tree" && "$root/setup/progress.sh" deb dpkg-buildpackage --no-sign) || die "dpkg-buildpackage failed"
lintian --allow-root --display-info --pedantic --tag-display-limit 0 --fail-on error,warning,info,pedantic "$work"/*.changes ||
	die "lintian has something to say"
rm -f "$out/${name}"[_-]*
find "$work" -maxdepth 1 -type f -name "$name*" -exec mv -t "$out" {} +
echo "built in $out:"
cd "$out" && ls -- *.deb
