#!/usr/bin/env bash
# Run a command in a fresh clone of the last commit, on a fresh distribution: a chroot made by debootstrap (root).
#
#     packaging/hosts/chroot.sh [OPTION]... bookworm|trixie|noble [COMMAND...]
#
# The command runs as an ordinary user who may call sudo, in the clone, with an empty NDM_CACHE and no .venv. The
# default are the two commands of README.md. The distribution has what README.md asks for, git, make and python3.
#
#     --base         only make the base system, and print the path of its tarball
#     --root         run as root instead
#     --no-sudo      sudo is not installed: root has run `setup/packages.py` with all purposes of `make test` before
#     --keep FOLDER  unpack to FOLDER and leave it there; a folder that exists already is used as it is
#     --share PATH   a file or folder of this machine that is there too, read-only (pip's local index)
#
# The base system is cached in $NDM_CACHE/hosts/NAME.tar.gz; delete the file to make it anew. Mirrors are those of this
# machine's apt, else the one that MIRROR= names. Its certificates, proxies and PIP_* variables hold inside as well.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${NDM_CACHE:-$HOME/.cache/ndm-tcp}/hosts
# signs Ubuntu's archive since 2018
ubuntu_key=F6ECB3762474EDA9D21B7022871920D1991BC93C
ubuntu_keyring=pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb

say() { echo "hosts: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

MIRROR=${MIRROR-} only_base='' as_root='' sudo=1 keep='' shared=()
while [[ ${1-} == --* ]]; do
	case $1 in
	--base) only_base=1 ;;
	--root) as_root=1 ;;
	--no-sudo) sudo='' ;;
	--keep) keep=${2:?--keep needs a folder} && shift ;;
	--share) shared+=("${2:?--share needs a path}") && shift ;;
	*) fail "$1 is no option: --base, --root, --no-sudo, --keep FOLDER or --share PATH" ;;
	esac
	shift
done
name=${1-}
case $name in
bookworm | trixie) vendor=Debian ;;
noble) vendor=Ubuntu ;;
*) fail "'$name' is no distribution: bookworm (Debian 12), trixie (Debian 13) or noble (Ubuntu 24.04)" ;;
esac
shift
[ $# -gt 0 ] || set -- sh -c 'make quickstart && make test'
[ "$(id -u)" = 0 ] || fail "a chroot needs root"
/usr/bin/python3 "$root/setup/packages.py" hosts >&2
for path in ${shared[@]+"${shared[@]}"}; do
	[ -e "$path" ] || fail "--share $path does not exist"
done

# mirror LABEL: the first mirror of this machine's apt with that label, else MIRROR
mirror() {
	local found
	# shellcheck disable=SC2016 # apt fills in the variable
	found=$(apt-get indextargets --format '$(REPO_URI)' "Label: $1" 2>/dev/null | sed -n 1p)
	[ -n "$found$MIRROR" ] || fail "this machine's apt has no mirror of $1: MIRROR= names one"
	echo "${found:-$MIRROR}"
}

# sources MIRROR SECURITY COMPONENTS: the lines of sources.list
sources() {
	local security=$name-security
	printf 'deb %s %s %s\n' "$1" "$name" "$3" "$1" "$name-updates" "$3" "$2" "$security" "$3"
}

# write the keyring of Ubuntu's archive to $1, if it has the key that signs the archive
ubuntu_keyring() {
	curl --fail --silent --show-error --output "$1.deb" "$2/$ubuntu_keyring"
	dpkg-deb --fsys-tarfile "$1.deb" | tar -xO ./usr/share/keyrings/ubuntu-archive-keyring.gpg >"$1.all"
	gpg --batch --quiet --no-default-keyring --keyring "$1.all" --export "$ubuntu_key" >"$1"
	gpg --batch --show-keys --with-colons "$1" | grep -q "^fpr:*$ubuntu_key:" || fail "$2/$ubuntu_keyring lacks the key $ubuntu_key"
}

# make the base system's tarball
make_base() {
	local work base archive security options=() script=()
	work=$(mktemp -d /var/tmp/ndm-base.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	base=$work/base
	if [ $vendor = Debian ]; then
		archive=$(mirror Debian)
		security=$(mirror Debian-Security)
		components=main
	else
		archive=$(mirror Ubuntu) components='main universe'
		security=$archive
		ubuntu_keyring "$work/keyring.gpg" "${archive%/}"
		# Debian's debootstrap may be older than the distribution; all of Ubuntu's have had one script since 2007
		options=(--keyring="$work/keyring.gpg" --components=main,universe) script=(/usr/share/debootstrap/scripts/gutsy)
	fi
	say "making $name from $archive with debootstrap; $work/base/debootstrap/debootstrap.log says how far it is"
	if ! debootstrap ${options[@]+"${options[@]}"} --include=ca-certificates,git,make,python3 "$name" "$base" "$archive" \
		${script[@]+"${script[@]}"} >"$work/log" 2>&1; then
		tail -n 20 "$work/log" "$base/debootstrap/debootstrap.log" >&2 || true
		fail "debootstrap $name failed"
	fi
	sources "$archive" "$security" "$components" >"$base/etc/apt/sources.list"
	# no daemon of a package starts inside
	printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
	chmod 755 "$base/usr/sbin/policy-rc.d"
	rm -rf "$base"/var/cache/apt/archives/*.deb
	mkdir -p "$cache"
	tar -C "$base" -czf "$cache/.$name.$$" .
	mv "$cache/.$name.$$" "$cache/$name.tar.gz"
	rm -rf "$work"
	trap - EXIT
}

# the clone, a user, this machine's network and certificates
set_up() {
	mkdir -p "$chroot"
	say "unpacking $name to $chroot"
	tar -C "$chroot" -xzf "$cache/$name.tar.gz"
	cat /etc/resolv.conf >"$chroot/etc/resolv.conf"
	cat /etc/ssl/certs/ca-certificates.crt >"$chroot/etc/ssl/certs/ca-certificates.crt"
	chroot "$chroot" useradd --create-home --shell /bin/bash ndm
	git clone --quiet --no-hardlinks "$root" "$chroot$home/ndm-tcp"
	git -C "$chroot$home/ndm-tcp" checkout --quiet "$(git -C "$root" rev-parse HEAD)"
	chroot "$chroot" chown -R "$user:$user" "$home/ndm-tcp"
	if [ -n "$as_root" ]; then
		return
	elif [ -n "$sudo" ]; then
		inside root / sh -c 'apt-get update -q && apt-get install -y --no-install-recommends sudo' >"$chroot/var/log/sudo.log" 2>&1 ||
			{ tail "$chroot/var/log/sudo.log" >&2 && fail "sudo cannot be installed in $chroot"; }
		echo 'ndm ALL=(ALL) NOPASSWD: ALL' >"$chroot/etc/sudoers.d/ndm"
	else
		inside root "$home/ndm-tcp" setup/packages.py tests bpf
	fi
}

# a Debian user's PATH has no sbin
path_of() {
	if [ "$1" = root ] || [ $vendor = Ubuntu ]; then
		echo /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	else
		echo /usr/local/bin:/usr/bin:/bin
	fi
}

# inside USER FOLDER COMMAND...: run it in the chroot, with mounts and processes that end with it
inside() {
	local settings=() variable as=$1 folder=$2
	shift 2
	for variable in $(compgen -e); do
		case $variable in
		PIP_* | *_proxy | *_PROXY | SSL_CERT_FILE | SSL_CERT_DIR | CI) settings+=("$variable=${!variable}") ;;
		esac
	done
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child bash -euc '
		chroot=$1 shared=$2 as=$3 folder=$4
		shift 4
		mount --bind "$chroot" "$chroot"
		mount -t proc proc "$chroot/proc"
		mount -t sysfs -o ro sys "$chroot/sys"
		mount --rbind /dev "$chroot/dev"
		mount -t tmpfs -o mode=1777 tmp "$chroot/dev/shm"
		while IFS= read -r path && [ -n "$path" ]; do
			if [ -d "$path" ]; then mkdir -p "$chroot$path"; else mkdir -p "$chroot${path%/*}" && touch "$chroot$path"; fi
			mount --bind "$path" "$chroot$path"
			mount -o remount,bind,ro "$chroot$path"
		done <<<"$shared"
		exec chroot --userspec="$as:$as" "$chroot" sh -c "cd \"\$1\" && shift && exec \"\$@\"" sh "$folder" "$@"
	' bash "$chroot" "$(printf '%s\n' ${shared[@]+"${shared[@]}"})" "$as" "$folder" \
		env -i "HOME=$(if [ "$as" = root ]; then echo /root; else echo "/home/$as"; fi)" "USER=$as" "LOGNAME=$as" LANG=C.UTF-8 \
		"PATH=$(path_of "$as")" ${settings[@]+"${settings[@]}"} "$@"
}

user=ndm home=/home/ndm
[ -z "$as_root" ] || user=root home=/root
[ -f "$cache/$name.tar.gz" ] || make_base
if [ -n "$only_base" ]; then
	echo "$cache/$name.tar.gz"
	exit
fi
if [ -n "$keep" ]; then
	chroot=$(realpath -m "$keep")
else
	chroot=$(mktemp -d "/var/tmp/ndm-$name.XXXXXX")
	trap 'rm -rf --one-file-system "$chroot"' EXIT
fi
[ -d "$chroot$home/ndm-tcp" ] || set_up
say "$name as $user: $*"
inside "$user" "$home/ndm-tcp" "$@"
