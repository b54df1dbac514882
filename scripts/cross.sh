#!/bin/sh
# Vets and builds everything, tests included, for each platform of the README, or for those that are
# named. It goes on after one that fails.
set -u
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
failed=0
for platform in "$@"; do
	export GOOS="${platform%/*}" GOARCH="${platform#*/}" CGO_ENABLED=0
	began=$(date +%s)
	if go vet ./... && go build -o /dev/null ./cmd/pagetools && go test -c -o /dev/null ./... >/dev/null; then
		how=builds
	else
		how=FAILED failed=1
	fi
	echo "$platform $how after $(($(date +%s) - began)) s"
done
exit $failed
