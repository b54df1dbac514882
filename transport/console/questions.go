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

// askedJSON is a question with the schema of its arguments, for whoever may change them.
type askedJSON struct {
	bridge.OpenQuestion

	Schema json.RawMessage `json:"inputSchema,omitempty"`
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
			out := askedJSON{OpenQuestion: q}
			if c.Can(bridge.MayAnswer) {
				out.Schema, _ = bridge.ArgumentsSchema(f.b, c, q.ID) // nil when it was answered meanwhile
			}
			transport.WriteJSON(w, r, http.StatusOK, out)
			return
		}
	}
	transport.WriteJSON(w, r, http.StatusOK, struct{}{})
}

func (f *Face) answer(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	a, more, err := readAnswer(r)
	if err == nil {
		err = bridge.AnswerWith(f.b, c, r.PathValue("id"), a, more)
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	f.log.InfoContext(r.Context(), "question: answered", "question", r.PathValue("id"), "by",
		c.Name, "ok", a.OK, "changed", more.Input.Exists())
	write(w, r, map[string]string{"status": "ok"})
}

// picture shows the page that asks.
func (f *Face) picture(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	png, err := f.b.Screenshot(r.Context(), c, r.PathValue("id"))
	writePicture(w, r, png, err)
}

// writePicture writes a picture of a page, or why there is none.
func writePicture(w http.ResponseWriter, r *http.Request, png []byte, err error) {
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

// readAnswer reads {"ok","value"?,"always"?,"input"?,"reason"?} and nothing else.
func readAnswer(r *http.Request) (a bridge.Answer, more bridge.Amendment, err error) {
	answer, err := readObject(r, "ok", "value", "always", "input", "reason")
	if err != nil {
		return a, more, err
	}
	a.Value, more.Input = answer.Get("value").Text(), answer.Get("input")
	for name, into := range map[string]*bool{"ok": &a.OK, "always": &a.Always} {
		value := answer.Get(name)
		if value.Exists() && (value.IsNull() || json.Unmarshal(value.Text(), into) != nil) {
			return a, more, transport.Malformed(name + " must be true or false.")
		}
	}
	if !answer.Get("ok").Exists() {
		return a, more, transport.Malformed("ok is missing: true or false.")
	}
	if reason := answer.Get("reason"); reason.Exists() {
		if !reason.IsString() {
			return a, more, transport.Malformed("reason must be a text.")
		}
		more.Reason = reason.String()
	}
	return a, more, nil
}
