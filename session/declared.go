package session

import (
	"fmt"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// TooLarge is the finding of a document of which n tools are not offered because there is no room.
func TooLarge(n int) bridge.Finding {
	return bridge.Finding{Rule: "declarations-too-large", Refused: true,
		Message: fmt.Sprintf("What the page declares is too large: %d tools of a document are not offered.", n)}
}

// Declared counts the bytes of what the documents of a tab declare, and of their findings,
// for engines: what is too much is dropped before anything is kept of it. One goroutine uses it.
type Declared struct {
	account *policy.Account
	of      map[string]int64 // by document
}

// NewDeclared counts in TabOptions.Bytes.
func NewDeclared(o TabOptions) *Declared {
	return &Declared{account: o.Bytes, of: map[string]int64{}}
}

// Fit drops the tools of the set that there is no room for, the last ones first, and says
// so in its findings.
func (d *Declared) Fit(set *ToolsChanged) {
	d.Gone(set.Document)
	for i, f := range set.Findings {
		n := int64(len(f.Tool) + len(f.Message))
		if !d.account.Take(n) {
			set.Findings = set.Findings[:i:i]
			break
		}
		d.of[set.Document] += n
	}
	for i := range set.Tools {
		n := set.Tools[i].Bytes()
		if d.account.Take(n) {
			d.of[set.Document] += n
			continue
		}
		set.Findings = append(set.Findings, TooLarge(len(set.Tools)-i))
		clear(set.Tools[i:]) // else what lies behind the rest keeps them
		set.Tools = set.Tools[:i:i]
		return
	}
}

// Held returns the bytes that are counted of a document.
func (d *Declared) Held(document string) int64 { return d.of[document] }

// Room returns how many more there is room for. Safe for concurrent use.
func (d *Declared) Room() int64 { return d.account.Room() }

// Gone forgets a document.
func (d *Declared) Gone(document string) {
	d.account.Give(d.of[document])
	delete(d.of, document)
}
