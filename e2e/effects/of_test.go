package effects

import (
	"fmt"
	"testing"

	"github.com/pagetools/pagetools/session"
)

// TestAlone: what the page does without a call is left out, with other times and ids, and nothing
// else is.
func TestAlone(t *testing.T) {
	t.Parallel()
	alone := &Alone{}
	alone.Add(&session.Activity{
		Requests:  []session.Request{{Method: "POST", URL: "https://a1.example/poll?t=17", Body: `{"id":"f3a9","state":"idle"}`}},
		Writes:    []session.Write{{Area: "localStorage", Key: "seen-12"}},
		Navigated: []string{"https://a1.example/turn/1"}, Refused: []session.Refused{{URL: "tracker.example:443"}},
	})
	same := &session.Activity{
		Requests:  []session.Request{{Method: "POST", URL: "https://a1.example/poll?t=999", Body: `{"id":"0c44","state":"idle"}`}},
		Writes:    []session.Write{{Area: "localStorage", Key: "seen-13"}, {Area: "cookie", Key: "s", Answered: true}, {Area: "cache"}},
		Navigated: []string{"https://a1.example/turn/2"}, Refused: []session.Refused{{URL: "tracker.example:443"}},
	}
	if got := fmt.Sprintf("%+v", *Of(same, alone)); got != `{Requests:[] Storage:[] Navigated:[] Windows:[] Submitted:[] Downloads:[] Blocked:[]}` {
		t.Errorf("of the same there is left %s", got)
	}
	if got := Of(same, nil); len(got.Requests)+len(got.Storage)+len(got.Navigated)+len(got.Blocked) != 4 {
		t.Errorf("with nothing to leave out there is %+v", got)
	}
	other := &session.Activity{
		Requests: []session.Request{
			{Method: "PUT", URL: "https://a1.example/poll?t=17", Body: `{"id":"f3a9","state":"idle"}`},
			{Method: "POST", URL: "https://a2.example/poll?t=17", Body: `{"id":"f3a9","state":"idle"}`},
			{Method: "POST", URL: "https://a1.example/poll?t=17", Body: `{"id":"f3a9","state":"buy"}`},
		},
		Writes:  []session.Write{{Area: "sessionStorage", Key: "seen-12"}, {Area: "localStorage", Key: "cart"}, {Area: "localStorage", Key: "more"}},
		Windows: []string{"https://a1.example/turn/1"},
	}
	if got := Of(other, alone); len(got.Requests) != 3 || len(got.Storage) != 2 || len(got.Windows) != 1 {
		t.Errorf("of something else there is left %+v", got)
	}
}
