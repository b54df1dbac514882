package store

import (
	"testing"
	"time"
)

// TestSameRun: a run of the kernel is known by its name, or by when it began, where setting the
// clock moves that by a step.
func TestSameRun(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 26, 12, 0, 9, 0, time.UTC)
	for name, row := range map[string]struct {
		a, b string
		same bool
	}{
		"one name":               {"8d1f", "8d1f", true},
		"two names":              {"8d1f", "8d2f", false},
		"one time":               {beganAt(began), beganAt(began), true},
		"the next step":          {beganAt(began), beganAt(began.Add(2 * time.Second)), true},
		"the step before":        {beganAt(began), beganAt(began.Add(-10 * time.Second)), true},
		"two steps":              {beganAt(began), beganAt(began.Add(20 * time.Second)), false},
		"a name and a time":      {"1", beganAt(time.Unix(0, 0)), false},
		"names that are numbers": {"1", "2", false},
		"no number":              {beganWord + "x", beganWord + "1", false},
		"nothing":                {beganWord, beganWord + "1", false},
	} {
		if got := sameRun(row.a, row.b); got != row.same {
			t.Errorf("%s: %v", name, got)
		}
	}
	if a, b := thisBoot(), thisBoot(); !sameRun(a, b) {
		t.Errorf("this run is %q and %q", a, b)
	}
}
