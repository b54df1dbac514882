#!/bin/sh
# Prints the folder with the programs of PostgreSQL (postgres, initdb, psql) for tests. Each test starts a server of its
# own with them, in a folder of its own. In CI Debian's package is installed where there is none, without a service.
# Elsewhere nothing is installed. What is missing is said on stderr, and nothing is printed.
set -eu

say() { printf '%s\n' "postgres.sh: $*" >&2; }

find_folder() {
	for folder in "${PAGETOOLS_POSTGRES:-}" $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5 -rn) /usr/pgsql-*/bin \
		"$(pg_config --bindir 2>/dev/null || true)" /usr/bin /usr/local/bin /opt/homebrew/bin; do
		if [ -x "$folder/initdb" ] && [ -x "$folder/psql" ] && "$folder/postgres" --version >/dev/null 2>&1; then
			printf '%s\n' "$folder"
			return 0
		fi
	done
	return 1
}

install_server() {
	[ "${CI:-}" = true ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
	say "no PostgreSQL found. Installing Debian's with apt-get install -y --no-install-recommends postgresql."
	mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
	{
		apt-get update -q &&
			DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confold postgresql
	} >&2
}

find_folder || { install_server && find_folder; } || say "there is no PostgreSQL here: its tests are left out. Debian: apt-get install postgresql"
