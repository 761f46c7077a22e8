#!/usr/bin/env bash
# setup/progress.sh NAME COMMAND...: run a command, and show the newest line of its output in one line that moves; the
# output's end when it fails. Nothing moves without a terminal, and where `make -j` has something beside it that moves.
name=$1 log=$(mktemp)
shift
trap 'kill $shows 2>/dev/null; rm -f "$log"' EXIT
if [ -t 2 ] && [[ ${MAKEFLAGS-} != *-j* ]]; then
	columns=$(stty size <&2) columns=${columns#* }
	[ "$columns" -gt 1 ] || columns=80 # a terminal without a size
	while sleep 0.2; do # not before the first line: sudo may be asking for a password
		[ ! -s "$log" ] || printf '\r\033[K%s' "$(printf '%s: %d s: %s' "$name" $SECONDS "$(tail -n 1 "$log")" | cut -c "-$((columns - 1))")" >&2
	done &
	shows=$!
fi
"$@" >"$log" 2>&1 && status=0 || status=$?
[ -z "${shows-}" ] || { kill "$shows" && printf '\r\033[K' >&2; }
[ "$status" = 0 ] || tail -n 40 "$log" >&2
exit "$status"
