package session

import "testing"

// TestRoom is the contract's row: live sessions by memory and cores, more of light pages.
func TestRoom(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		light bool
		free  uint64
		cores int
		want  int
	}{
		{false, 16 << 30, 2, 8}, {true, 16 << 30, 2, 64},
		{false, 512 << 20, 2, 4}, {true, 400 << 20, 2, 10},
		{false, 0, 2, 8}, {true, 0, 2, 64}, // not known
		{false, 1 << 20, 2, 1}, {true, 1 << 20, 2, 1},
	} {
		if got := roomFor(row.light, row.free, row.cores); got != row.want {
			t.Errorf("%+v: room for %d", row, got)
		}
	}
	if light, whole := (Options{LightPages: true}).withDefaults(), (Options{}).withDefaults(); light.MaxSessions < whole.MaxSessions {
		t.Errorf("there is room for %d light pages, and %d of a whole browser", light.MaxSessions, whole.MaxSessions)
	}
	if o := (Options{LightPages: true, MaxSessions: 3}).withDefaults(); o.MaxSessions != 3 {
		t.Errorf("the operator's number became %d", o.MaxSessions)
	}
}
