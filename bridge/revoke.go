package bridge

import "github.com/pagetools/pagetools/bridge/policy"

// IsRevoked reports whether the credential that the caller came with was taken back.
func (c Caller) IsRevoked() bool {
	select {
	case <-c.Revoked: // a nil one is never closed
		return true
	default:
		return false
	}
}

// TakenBack is what a caller is told whose credential was taken back.
func TakenBack() *Error {
	return Errorf(Forbidden, "", NotRun, "This credential was taken back.")
}

// Revoke ends what callers left whose credential was taken back: their calls that
// wait for a person end, the questions of these are void, and their tokens name
// nothing. It does not wait for pages. Calls that run go on to their end, which their
// callers are not told.
func (b *Bridge) Revoke() {
	var all []*Run
	b.runs.mu.Lock()
	for _, r := range b.runs.byToken {
		if r.call.Caller.IsRevoked() {
			all = append(all, r)
		}
	}
	b.runs.mu.Unlock()
	for _, r := range all {
		if rest := r.halt(TakenBack()); rest != nil {
			b.background.Go(rest) // ends when the page lets go
		}
		b.forgetRun(r.token)
	}
}

// SetRates bounds callers, by name, in place of the rates until now. Who keeps their
// rate keeps what they used of it.
func (b *Bridge) SetRates(callers map[string]policy.Rate) { b.rates.SetCallers(callers) }
