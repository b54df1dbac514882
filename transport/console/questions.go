package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

func (f *Face) list(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	list := f.open(r.Context(), c)
	if f.mayLookElsewhere(c) {
		list = append(list, Ask(r.Context(), f.peers())...)
		slices.SortFunc(list, func(a, b bridge.OpenQuestion) int { return a.Since.Compare(b.Since) })
	}
	write(w, r, Questions{list})
}

// open lists what this process asks.
func (f *Face) open(ctx context.Context, c bridge.Caller) []bridge.OpenQuestion {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var inbox bridge.Inbox
	inbox.Take(<-f.b.Watch(ctx, bridge.Interest{Caller: c, Runs: true})) // the snapshot
	return inbox.Questions()
}

// question is one question that is open, or {} for one that was.
func (f *Face) question(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	if !f.b.Asked(r.PathValue("id")) {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no such question."))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	for _, q := range f.open(r.Context(), c) {
		if q.ID == r.PathValue("id") {
			transport.WriteJSON(w, r, http.StatusOK, q)
			return
		}
	}
	transport.WriteJSON(w, r, http.StatusOK, struct{}{})
}

func (f *Face) answer(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	a, err := readAnswer(r)
	if err == nil {
		err = f.b.Answer(c, r.PathValue("id"), a)
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	f.log.InfoContext(r.Context(), "question: answered", "question", r.PathValue("id"), "by",
		c.Name, "ok", a.OK)
	write(w, r, map[string]string{"status": "ok"})
}

// picture shows the page that asks.
func (f *Face) picture(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	png, err := f.b.Screenshot(r.Context(), c, r.PathValue("id"))
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "image/png")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(png)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(png)
	}
}

// readAnswer reads {"ok","value"?,"always"?} and nothing else.
func readAnswer(r *http.Request) (bridge.Answer, error) {
	body, err := transport.ReadBody(r)
	if err != nil {
		return bridge.Answer{}, err
	}
	answer, err := bridge.ReadValue("The body", body)
	if err != nil {
		return bridge.Answer{}, err
	}
	var a bridge.Answer
	said := false
	for name, value := range answer.Members() {
		var into any
		switch name {
		case "ok":
			into, said = &a.OK, true
		case "always":
			into = &a.Always
		case "value":
			a.Value = value.Text()
			continue
		default:
			return a, transport.Malformed("An answer has ok, and perhaps value and always.")
		}
		if value.IsNull() || json.Unmarshal(value.Text(), into) != nil {
			return a, transport.Malformed(name + " must be true or false.")
		}
	}
	if !said {
		return a, transport.Malformed("ok is missing: true or false.")
	}
	return a, nil
}
