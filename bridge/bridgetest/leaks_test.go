package bridgetest

import (
	"strings"
	"testing"
)

func waitsForever(started chan<- struct{}, end <-chan struct{}) {
	close(started)
	<-end
}

// TestLeftovers plants a goroutine: a check that finds nothing proves nothing.
func TestLeftovers(t *testing.T) {
	started, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	go waitsForever(started, end)
	<-started
	if !strings.Contains(leftovers(), "waitsForever") {
		t.Error("a forgotten goroutine was not found")
	}
}
