#!/bin/sh
# Prints the paths of two NATS servers for tests, with a colon between them: Debian's, which is 2.9, and the newest of
# the Go module proxy. They are unpacked and built into the user's cache: nothing is installed, no service starts, and
# the program that we ship has nothing of them. What cannot be had is said on stderr and left out.
# PAGETOOLS_NATS names another folder for them.
set -eu

version=v2.15.2
cache=${PAGETOOLS_NATS:-${XDG_CACHE_HOME:-$HOME/.cache}/pagetools-nats}
say() { printf '%s\n' "nats.sh: $*" >&2; }
works() { [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

# debian prints the path of Debian's server, also where it is installed already.
debian() {
	for path in /usr/sbin/nats-server /usr/bin/nats-server "$cache/debian/nats-server"; do
		if works "$path"; then
			printf '%s\n' "$path"
			return 0
		fi
	done
	command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
	say "fetching Debian's nats-server into $cache"
	new=$(mktemp -d)
	chmod 755 "$new" # apt's own user writes into it
	if ! (cd "$new" && fetch) >&2; then
		rm -rf "$new"
		return 1
	fi
	dpkg-deb -x "$new"/nats-server_*.deb "$new/root" >&2
	mkdir -p "$cache/debian"
	found=$(find "$new/root" -name nats-server -type f -perm -u+x | head -n 1)
	[ -n "$found" ] && mv "$found" "$cache/debian/nats-server"
	rm -rf "$new"
	works "$cache/debian/nats-server" && printf '%s\n' "$cache/debian/nats-server"
}

# fetch downloads the package. Where its version is not known any more, the lists are read again.
fetch() {
	apt-get download -q nats-server && return 0
	if [ "$(id -u)" -eq 0 ]; then
		apt-get update -q
	elif command -v sudo >/dev/null 2>&1; then
		sudo -n apt-get update -q
	else
		return 1
	fi && apt-get download -q nats-server
}

# newest prints the path of the server that Go builds.
newest() {
	path=$cache/$version/nats-server
	if ! works "$path"; then
		say "building nats-server $version into $cache, with go install"
		# Outside of this module, so that go.mod stays as it is, and without its flags.
		(cd / && GOFLAGS=-p=2 GOBIN="$cache/$version" CGO_ENABLED=0 go install -ldflags '-s -w' "github.com/nats-io/nats-server/v2@$version") >&2 || return 1
	fi
	works "$path" && printf '%s\n' "$path"
}

one=$(debian) || say "Debian's nats-server cannot be had here: its tests are left out"
two=$(newest) || say "nats-server $version cannot be had here: its tests are left out"
printf '%s\n' "$one${one:+${two:+:}}$two"
