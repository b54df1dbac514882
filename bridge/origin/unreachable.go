package origin

import (
	"errors"
	"slices"
	"syscall"
)

// Windows has numbers of its own for what a connection ends with, which the names of the package
// syscall do not mean there. No other system uses these numbers.
const (
	wsaInUse       = syscall.Errno(10048)
	wsaNetwork     = syscall.Errno(10051)
	wsaReset       = syscall.Errno(10054)
	wsaRefused     = syscall.Errno(10061)
	wsaUnreachable = syscall.Errno(10065)
)

// IsInUse reports whether somebody else listens at an address.
func IsInUse(err error) bool { return isOne(err, syscall.EADDRINUSE, wsaInUse) }

// IsRefused reports whether nobody listens at an address.
func IsRefused(err error) bool { return isOne(err, syscall.ECONNREFUSED, wsaRefused) }

// IsReset reports whether the other side broke a connection off.
func IsReset(err error) bool { return isOne(err, syscall.ECONNRESET, wsaReset) }

// IsUnreachable reports whether no way leads to an address.
func IsUnreachable(err error) bool {
	return isOne(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, wsaUnreachable, wsaNetwork)
}

func isOne(err error, of ...syscall.Errno) bool {
	return slices.ContainsFunc(of, func(one syscall.Errno) bool { return errors.Is(err, one) })
}
