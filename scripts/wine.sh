#!/bin/sh
# Runs a program for Windows: scripts/wine.sh PROGRAM.exe ARGS...
# Takes wine64 where it is installed. Else it unpacks Debian's packages of it into a cache, and lays
# them over /usr for this one process: nothing is installed. Exit code 77: it cannot, and says why.
# pagetools must be built with -tags wine, because os.Root.Remove fails in wine 8. --end ends the
# processes that wine keeps for itself.
set -eu
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- # or wine's own processes keep them, such as a lock
umask 077 # wine gives files the rights that Unix says

here=$(cd "$(dirname "$0")/.." && pwd)
cache=${PAGETOOLS_WINE:-${XDG_CACHE_HOME:-$HOME/.cache}/pagetools-wine}
skip() {
	echo "wine.sh: skipped: $*" >&2
	exit 77
}

# become runs a program of wine with these arguments, in the place of this process.
become() {
	if command -v wine64 >/dev/null 2>&1; then
		exec "$@"
	fi
	as=
	[ "$(id -u)" -eq 0 ] || as=-r
	# shellcheck disable=SC2016,SC2086
	exec unshare $as -m sh -c 'mount -t overlay overlay -o "lowerdir=$0:/usr" /usr && exec /usr/lib/wine/"$@"' "$cache/usr" "$@"
}

unpack() {
	command -v apt-get >/dev/null 2>&1 || skip "there is no wine64, and no apt-get to fetch it"
	[ "$(dpkg --print-architecture)" = amd64 ] || skip "there is no wine64 for this machine"
	unshare -m true 2>/dev/null || unshare -r -m true 2>/dev/null || skip "there is no wine64, and a namespace may not be made"
	mkdir -p "$cache/debs"
	echo "wine.sh: fetching Debian's packages of wine64 into $cache" >&2
	names=$(apt-get install -s --no-install-recommends wine64 2>/dev/null | awk '/^Inst/{print $2}')
	[ -n "$names" ] || skip "Debian's packages of wine64 are not known here: apt-get update"
	# shellcheck disable=SC2086
	(cd "$cache/debs" && apt-get download -q $names >/dev/null 2>&1) || skip "Debian's packages of wine64 cannot be fetched"
	rm -rf "$cache/new"
	for deb in "$cache"/debs/*.deb; do dpkg -x "$deb" "$cache/new"; done
	libs=$(dirname "$(find "$cache/new" -path '*x86_64-windows/user32.dll')")
	zlib=$(find "$cache/new" -path '*x86_64-w64-mingw32/lib/zlib1.dll')
	[ ! -e "$zlib" ] || cp "$zlib" "$libs/"
	[ ! -e "$zlib" ] || cp "$zlib" "$cache/"
	rm -rf "$cache/debs"
	mv "$cache/new/usr" "$cache/usr"
	rm -rf "$cache/new"
}

command -v wine64 >/dev/null 2>&1 || [ -d "$cache/usr" ] || unpack
export WINEPREFIX="${WINEPREFIX:-$cache/prefix}" WINEDEBUG="${WINEDEBUG:--all}" WINEDLLOVERRIDES="mscoree,mshtml=" DISPLAY=
system32=$WINEPREFIX/drive_c/windows/system32
if [ ! -e "$WINEPREFIX/ready" ]; then
	mkdir -p "$system32"
	# Debian's user32.dll wants it beside it, where wine lays a copy of that.
	[ ! -e "$cache/zlib1.dll" ] || cp "$cache/zlib1.dll" "$system32/"
	(become wine64 wineboot -i) >/dev/null 2>&1 || skip "wine64 does not start here"
	# Each Go program wants ProcessPrng, which wine has from version 9 on.
	[ -e "$system32/bcryptprimitives.dll" ] || (cd "$here" && go run ./scripts/wine -dll "$system32/bcryptprimitives.dll")
	: >"$WINEPREFIX/ready"
fi
[ "$*" != --end ] || become wineserver -k
# Without a server that is there already, the first program starts one, which keeps its output open.
(become wineserver -p60) </dev/null >/dev/null 2>&1 || true
become wine64 "$@"
