package lease

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge/records"
)

// Facts describe a node, in its own words, with each renewal.
type Facts struct {
	Node     string  `json:"node"`             // its name
	Address  string  `json:"addr"`             // where its peers reach it, such as https://10.0.0.11:7302
	Sessions int     `json:"sessions"`         //
	Free     int     `json:"free"`             // places for pages
	Load     float64 `json:"load"`             // share of its processors, 0 to 1
	Drain    bool    `json:"drain"`            // it takes nothing new
	Build    string  `json:"build"`            // its version
	Config   string  `json:"config,omitempty"` // digest of sites and callers
}

// form is the record of a life.
type form struct {
	Facts

	N     uint64 `json:"n"`     // counts renewals
	At    int64  `json:"at"`    // of the renewal, in ms since 1970 by the node's clock; for people
	Lease int64  `json:"lease"` // in ms
	Dead  string `json:"dead,omitempty"`
}

// Member is a life of another node, as it was seen last.
type Member struct {
	Facts

	ID string
}

// prefix begins the keys of lives.
const prefix = "n."

func keyOf(id string) string { return prefix + id }

func idOf(key string) string { return strings.TrimPrefix(key, prefix) }

// deadly returns the value of a life's record that declares it dead. What another version of
// pagetools wrote besides stays.
func deadly(value []byte, by string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, fmt.Errorf("reading a lease: %w", err)
	}
	delete(members, "v") // Encode writes it
	members["dead"] = json.RawMessage(`"` + by + `"`)
	return records.Encode(members)
}

func byID(a, b Member) int { return cmp.Compare(a.ID, b.ID) }
