#!/bin/sh
# Finds a Chromium-like browser and prints its path on stdout. Installs Debian's
# chromium when there is none and we may. Everything that it says goes to stderr.
# Exit code 4: no browser, and what to do about it has been said.
set -eu

say() { printf '%s\n' "browser.sh: $*" >&2; }

# A name that exists may be a stub that only says how to install a package:
# what answers --version counts as a browser.
works() {
	[ -n "$1" ] && [ -x "$1" ] && "$1" --version >/dev/null 2>&1
}

find_browser() {
	if [ -n "${PAGETOOLS_EXECUTABLE_PATH:-}" ]; then
		if works "$PAGETOOLS_EXECUTABLE_PATH"; then
			printf '%s\n' "$PAGETOOLS_EXECUTABLE_PATH"
			return 0
		fi
		say "PAGETOOLS_EXECUTABLE_PATH is $PAGETOOLS_EXECUTABLE_PATH, which does not answer --version. Looking elsewhere."
	fi
	for name in google-chrome google-chrome-stable chromium chromium-browser microsoft-edge headless_shell chrome-headless-shell; do
		path=$(command -v "$name" 2>/dev/null) || continue
		if works "$path"; then
			printf '%s\n' "$path"
			return 0
		fi
	done
	for path in /opt/google/chrome/chrome /usr/lib/chromium/chromium /usr/lib/chromium-browser/chromium-browser \
		/snap/bin/chromium /opt/microsoft/msedge/msedge /opt/chromium/chrome \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
		"/Applications/Chromium.app/Contents/MacOS/Chromium"; do
		if works "$path"; then
			printf '%s\n' "$path"
			return 0
		fi
	done
	return 1
}

# Prints the prefix that makes a command run as root, or fails.
root_prefix() {
	if [ "$(id -u)" -eq 0 ]; then
		return 0
	fi
	if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		printf 'sudo -n'
		return 0
	fi
	return 1
}

install_browser() {
	command -v apt-get >/dev/null 2>&1 || return 1
	as_root=$(root_prefix) || return 1
	say "no browser found. Installing Debian's chromium with apt-get update and apt-get install -y --no-install-recommends chromium."
	# $as_root is empty or two words.
	# shellcheck disable=SC2086
	{
		$as_root apt-get update -q &&
			$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium
	} >&2
}

if find_browser; then
	exit 0
fi
if install_browser && find_browser; then
	exit 0
fi
cat >&2 <<'TEXT'
browser.sh: there is no browser, and it could not be installed. Do one of these and run the command again:
  Debian:        sudo apt-get update && sudo apt-get install --no-install-recommends chromium
  Ubuntu:        sudo snap install chromium
  Fedora:        sudo dnf install chromium-headless
  macOS:         brew install --cask google-chrome
  anything else: install Chrome, Chromium, Edge or chrome-headless-shell, and if it is not in PATH:
                 export PAGETOOLS_EXECUTABLE_PATH=/path/to/the/browser
TEXT
exit 4
