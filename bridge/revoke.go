package bridge

import "github.com/pagetools/pagetools/bridge/policy"

// IsRevoked reports whether the credential that the caller came with was revoked.
func (c Caller) IsRevoked() bool {
	select {
	case <-c.Revoked: // a nil one is never closed
		return true
	default:
		return false
	}
}

// Revoked is the error for a caller whose credential was revoked.
func Revoked() *Error {
	return Errorf(Forbidden, "", NotRun, "This credential was revoked.")
}

// SetRates bounds callers, by name, in place of the rates until now. A caller whose rate
// is unchanged keeps its usage.
func (b *Bridge) SetRates(callers map[string]policy.Rate) { b.rates.SetCallers(callers) }
