package webtool_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestTranscripts holds the wire to what clients have seen: each file in testdata is
// a conversation. "> METHOD PATH BODY" is sent, "<" is the status and body that come
// back, and "!" is a step of the test. Each "-- section --" begins with new sites.
// With -update the answers are written anew.
func TestTranscripts(t *testing.T) {
	bridgetest.Transcripts(t, replay)
}

var (
	tokenText = regexp.MustCompile(`"resume":"([^"]+)"`)
	idText    = regexp.MustCompile(`"(id|call|request)":"[A-Z2-7]{26}"`)
	timeText  = regexp.MustCompile(`"expiresAt":"[^"]*"`)
)

// replay speaks as a file says, and returns the file with what came back.
func replay(t *testing.T, text string) string {
	var out strings.Builder
	var w *world
	token, header := "", ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "<") {
			continue
		}
		out.WriteString(line)
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "--":
			w = newWorld(t, bridge.Options{})
		case "!":
			header = do(t, w, rest)
		case ">":
			part := strings.SplitN(rest+" ", " ", 3)
			var headers []string
			if header != "" {
				headers = []string{header}
			}
			r := w.send(t, part[0], part[1], strings.ReplaceAll(strings.TrimSpace(part[2]), "TOKEN", token), headers...)
			if found := tokenText.FindStringSubmatch(r.body); found != nil {
				token = found[1]
				r.body = strings.ReplaceAll(r.body, token, "TOKEN")
			}
			header = ""
			status := r.Status
			for _, name := range []string{"Allow", "Retry-After"} {
				if v := r.Header.Get(name); v != "" {
					status += " " + name + ": " + v
				}
			}
			r.body = strings.ReplaceAll(r.body, w.host, "HOST")
			body := timeText.ReplaceAllString(idText.ReplaceAllString(r.body, `"$1":"ID"`), `"expiresAt":"TIME"`)
			out.WriteString("< " + status + "\n<\t" + body + "\n")
		}
	}
	return out.String()
}

// do makes a step: what the page of the shop comes to from now on, or a header of the
// next request, which it returns.
func do(t *testing.T, w *world, step string) (header string) {
	name, rest, _ := strings.Cut(step, " ")
	switch name {
	case "header":
		return rest
	case "returns":
		w.Answer("shop", rest, nil)
	case "fails": // CODE REASON OUTCOME, "-" being no reason
		part := strings.Fields(rest)
		answers(bridge.Code(part[0]), bridge.Reason(strings.TrimPrefix(part[1], "-")), bridge.Outcome(part[2]))(w)
	case "agrees": // an operator, to all that is asked
		operator := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
		for _, q := range bridgetest.Questions(w.bridge, operator) {
			if err := w.bridge.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
				t.Error(err)
			}
		}
	case "refuses": // REASON: no page can be had
		refuses(bridge.Reason(rest))(w)
	default:
		t.Fatalf("there is no step %q", name)
	}
	return ""
}
