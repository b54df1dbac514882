package webtool_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// oneRow is a store with what somebody wrote into it.
type oneRow struct {
	row      webtool.Record
	appended []webtool.Record
}

func (s *oneRow) Load(context.Context, string) ([]webtool.Record, error) {
	return []webtool.Record{{Version: s.row.Version, Digest: s.row.Digest, LastSeen: s.row.LastSeen}}, nil
}

func (s *oneRow) Document(_ context.Context, _, version string) (json.RawMessage, error) {
	if version == s.row.Version {
		return s.row.Document, nil
	}
	return nil, nil
}

func (s *oneRow) Append(_ context.Context, _ string, r webtool.Record) error {
	if r.Version == s.row.Version || r.Digest == s.row.Digest {
		return webtool.ErrConflict
	}
	s.appended = append(s.appended, r)
	return nil
}

func (*oneRow) Seen(context.Context, string, string, time.Time) error { return nil }

// FuzzHistory: whatever stands in a row of the data folder, a webtool has a version that is
// a number nobody had, and what it served once is served again or is an error.
func FuzzHistory(f *testing.F) {
	f.Add("1.0.0", []byte(`{"actions":[{"name":"a","requestSchema":{"type":"object"},"responseSchema":{}}],"configSchema":{},"defaultConfig":{}}`))
	f.Add("1.0.0", []byte(`{"actions":[{"name":"a"}],"version":"7.0.0"}`))
	f.Add("9223372036854775807.0.0", []byte(`null`))
	f.Add("one", []byte(`{}`))
	f.Add(" 1.2.3x", []byte(`[`))
	number := regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)
	f.Fuzz(func(t *testing.T, version string, document []byte) {
		s := &oneRow{row: webtool.Record{Version: version, Digest: "d", Document: document}}
		h := webtool.NewHistory("shop", webtool.Options{Store: s})
		defer h.Close()
		old, err := h.Version(t.Context(), version)
		if err == nil && old != nil && (old.Version != version || string(old.JSON()) != string(document)) {
			t.Errorf("version %q is %s", version, old.JSON())
		}
		if d := h.Stale(t.Context()); d != nil && !json.Valid(d.JSON()) {
			t.Errorf("stale it is %s", d.JSON())
		}
		action := webtool.NewAction(webtool.Action{Name: "a"}, json.RawMessage(`{"type":"object"}`), nil)
		d, err := h.Observe(t.Context(), "now", func() *webtool.Document {
			return webtool.Draft("shop", "", []webtool.Action{action}, webtool.Config{Schema: json.RawMessage(`{}`), Default: json.RawMessage(`{}`)})
		})
		if err == nil && (!number.MatchString(d.Version) || d.Version == version || len(s.appended) != 1 || s.appended[0].Version != d.Version) {
			t.Errorf("beside version %q the new one is %q, and kept is %+v", version, d.Version, s.appended)
		}
		_, problem, err := h.Pin(t.Context(), version, action, schema.Limits{})
		if err == nil && (problem == webtool.PinUnknown) != (old == nil) {
			t.Errorf("a pin of %q, which is %+v, has the problem %v", version, old, problem)
		}
	})
}
