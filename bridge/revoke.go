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

// SetRates bounds callers, by name, in place of the rates until now. Who keeps their
// rate keeps what they used of it.
func (b *Bridge) SetRates(callers map[string]policy.Rate) { b.rates.SetCallers(callers) }
