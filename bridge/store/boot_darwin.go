package store

import (
	"time"

	"golang.org/x/sys/unix"
)

// boot returns when the system began to run, if it says so.
func boot() (id string, began time.Time) {
	at, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "", time.Time{}
	}
	return "", time.Unix(at.Unix())
}
