package store

import (
	"time"

	"golang.org/x/sys/windows"
)

// boot returns when the system began to run.
func boot() (id string, began time.Time) { return "", time.Now().Add(-windows.DurationSinceBoot()) }
