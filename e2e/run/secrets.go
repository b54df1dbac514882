package run

import (
	"encoding/json"
	"sync"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// secrets keeps what an attempt sent that a schema marks as secret: no file has it. It is safe for
// concurrent use.
type secrets struct {
	mu   sync.Mutex
	all  []string
	made *schema.Concealer // of all; nil before it is asked for
}

// add adds what a schema marks in a value, and returns the value without.
func (s *secrets) add(declared, value json.RawMessage) json.RawMessage {
	if len(declared) == 0 || len(value) == 0 {
		return value
	}
	v := scenario.ReadAgain(value)
	marked := schema.Secrets(scenario.ReadAgain(declared), v)
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range marked {
		s.all, s.made = append(s.all, v.At(at).Leaves()...), nil
	}
	return v.Mask(marked).Text()
}

// concealer masks what was added until now.
func (s *secrets) concealer() *schema.Concealer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = schema.Conceal(s.all)
	}
	return s.made
}

// hideIn masks the secrets in what a report has of a failure.
func (s *secrets) hideIn(f *report.Failure) {
	hidden := s.concealer().In
	for _, words := range []*string{&f.Message, &f.Path, &f.Expected, &f.Actual} {
		*words = hidden(*words)
	}
	for _, lines := range [][]string{f.Console, f.Requests} {
		for i := range lines {
			lines[i] = hidden(lines[i])
		}
	}
}

// hide returns the arguments of a call without what the tool's schema marks as secret, which is
// masked from then on wherever else a file repeats it.
func (t *attempt) hide(tool string, with json.RawMessage) json.RawMessage {
	c, err := t.on.app.Manager.Catalog(t.ref)
	if err != nil || c.Tool(tool) == nil {
		return with
	}
	return t.secrets.add(c.Tool(tool).InputSchema(), with)
}
