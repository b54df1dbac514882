package proctree

import "testing"

// TestTail: the last bytes are kept, however they come.
func TestTail(t *testing.T) {
	t.Parallel()
	tail := Tail{Most: 5}
	for _, x := range []struct{ says, want string }{{"", ""}, {"ab\n", "ab"}, {"cdef", "cdef"}, {"0123456789", "56789"}, {" ", "6789"}} {
		if _, err := tail.Write([]byte(x.says)); err != nil || tail.String() != x.want {
			t.Errorf("after %q it is %q, %v; want %q", x.says, &tail, err, x.want)
		}
	}
}
