package kit

import (
	"encoding/json"

	"github.com/pagetools/pagetools/e2e/check"
)

// CompareVersions returns how the tools of one webtool document differ from those of another, by meaning, the
// worst first: as `diff` does.
func CompareVersions(before, now json.RawMessage) ([]check.Change, error) {
	was, err := check.OfVersion(before)
	if err != nil {
		return nil, err
	}
	is, err := check.OfVersion(now)
	if err != nil {
		return nil, err
	}
	return check.Diff(was, is)
}
