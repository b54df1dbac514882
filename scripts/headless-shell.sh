#!/bin/sh
# Prints the path of Chromium's headless shell: a browser without what a person
# would see, which takes a third of the processor's time. Installs Debian's when we
# may. Prints nothing when there is none: the tests then take the usual browser.
set -eu

works() { [ -n "$1" ] && [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

find_shell() {
	for path in /usr/lib/chromium/chromium-headless-shell "$(command -v chrome-headless-shell || true)" "$(command -v headless_shell || true)"; do
		if works "$path"; then
			printf '%s\n' "$path"
			return 0
		fi
	done
	return 1
}

find_shell && exit 0
if [ "$(id -u)" -eq 0 ]; then
	as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
else
	exit 0
fi
command -v apt-get >/dev/null 2>&1 || exit 0
echo "headless-shell.sh: installing Debian's chromium-headless-shell." >&2
# $as_root is empty or two words.
# shellcheck disable=SC2086
{
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium-headless-shell ||
		{ $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium-headless-shell; }
} >&2 || exit 0
find_shell || exit 0
