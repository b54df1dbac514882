#!/bin/sh
# Fetches the examples of the JSON Schema test suite, as the module of another library has them, and prints
# the folder; nothing where they cannot be fetched.
set -eu
cd "$(dirname "$0")/.."

module=github.com/google/jsonschema-go
go mod download "$module" >&2 || exit 0
folder=$(go list -m -f '{{.Dir}}' "$module")/jsonschema/testdata
[ -d "$folder" ] && printf '%s\n' "$folder"
