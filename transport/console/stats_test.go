package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/console"
)

// TestStats: calls are counted by how they ended, by second and by site, once each, also those that a
// person refuses; pages are counted, and browsers weighed while there is a stream; names that callers made up are no sites, and who sees some sites gets theirs alone.
func TestStats(t *testing.T) {
	p := servePage(t, memory(t), console.Options{Records: &console.Records{}, Pages: &scripted{state: "running"}})
	e := p.events(t, viewing, "")
	e.next(t)
	p.do(t, "shop", "find", "")
	p.do(t, "shop", "find", "")
	p.do(t, "shop", "none", "")
	p.do(t, "nowhere", "find", "")
	id := p.asks(t)
	if err := p.Answer(person, id, bridge.Answer{}); err != nil {
		t.Fatal(err)
	}
	p.asks(t)
	p.calls(t, viewing, "?q=tool:buy", 2)
	var got struct {
		Items []struct {
			Node    string
			Samples []struct{ OK, Refused, Error, Questions, Running, Held, Spare, Queued int }
			Sites   map[string][]struct {
				At            time.Time
				Calls, Errors int
			}
		}
	}
	read := func(token string) string {
		status, body := p.as(t, token, http.MethodGet, "/api/stats", "")
		got.Items = nil
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK || len(got.Items) != 1 || got.Items[0].Node != "here" {
			t.Fatalf("%d %s %v", status, body, err)
		}
		return body
	}
	body := read(viewing)
	ok, refused, failed := 0, 0, 0
	for _, s := range got.Items[0].Samples {
		ok, refused, failed = ok+s.OK, refused+s.Refused, failed+s.Error
	}
	if last := got.Items[0].Samples[len(got.Items[0].Samples)-1]; ok != 2 || refused != 1 || failed != 2 || last.Questions != 1 || last.Running != 1 || last.Held != 4 || last.Spare != 1 || last.Queued != 2 {
		t.Errorf("the samples are %s", body)
	}
	calls, errors := 0, 0
	for _, m := range got.Items[0].Sites["shop"] {
		calls, errors = calls+m.Calls, errors+m.Errors
	}
	if calls != 4 || errors != 1 || len(got.Items[0].Sites) != 1 {
		t.Errorf("the sites are %s", body)
	}
	if read(shopper); len(got.Items[0].Samples) != 0 || len(got.Items[0].Sites["shop"]) == 0 {
		t.Errorf("who sees some sites gets %+v", got)
	}
	if status, _ := p.as(t, agent, http.MethodGet, "/api/stats", ""); status != http.StatusForbidden {
		t.Errorf("an agent gets %d", status)
	}
	if ev := e.until(t, "stats"); ev.get("node") != "here" || !strings.Contains(ev.text, `"sites":{"shop":[`) {
		t.Errorf("the stream tells %s", ev.text)
	}
	if body := read(viewing); !strings.Contains(body, `"pss":1073741824`) {
		t.Errorf("what the browsers weigh is not in %s", body)
	}
}
