#!/bin/sh
# Runs what takes too long for each change, one part after the other, or the parts that are named. It
# goes on after a part that fails, and says at the end how each ended.
set -u
cd "$(dirname "$0")/.."

run() {
	case $1 in
	chaos)
		for seed in 101 102 103; do
			make --no-print-directory chaos DURATION=30m SEED=$seed || return 1
		done
		;;
	corpus)
		if [ -z "${DOCUMENTS:-}" ]; then
			echo "corpus: skipped, DOCUMENTS=FOLDER names the documents; see docs/opentools.md"
			return 0
		fi
		make --no-print-directory corpus
		;;
	release) make --no-print-directory release-check ;;
	stress | race | faults | soak | consent | mutations | clients | fuzz | contract | cross | wine) make --no-print-directory "$1" ;;
	*)
		echo "nightly.sh: there is no part $1"
		return 1
		;;
	esac
}

[ $# -gt 0 ] || set -- cross stress race contract consent mutations clients wine fuzz corpus release chaos faults soak
failed=0
ended=
for part in "$@"; do
	began=$(date +%s)
	echo "== $part"
	if run "$part"; then how=passed; else how=FAILED failed=1; fi
	ended="$ended
$(printf '%-10s %s after %d s' "$part" "$how" $(($(date +%s) - began)))"
done
echo "$ended"
exit $failed
