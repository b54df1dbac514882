package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// callsFace serves what is about calls.
type callsFace struct{ *Face }

// listCalls is GET /api/calls: the calls of all nodes that the filter wants, the newest first.
func (x callsFace) listCalls(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	f := x.Face
	limit, key, err := limitOf(r)
	var from *callJSON
	if err == nil && key != "" {
		from, err = readPlace(key)
	}
	query := r.URL.Query()
	var want func(*callJSON) bool
	if err == nil {
		want, err = readFilter(query.Get("q"), time.Now())
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	all, more := f.records.list(func(x *callJSON) bool { return c.Sees(x.Site) && want(x) }, from, limit)
	out := listJSON[callJSON]{}
	if f.mayLookElsewhere(c) {
		query.Set("limit", strconv.Itoa(limit))
		for _, node := range eachPeer(r.Context(), f.peers(), "/api/calls?"+query.Encode(), func(_ string, resp *http.Response) {
			var theirs listJSON[callJSON]
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				all, more = append(all, theirs.Items...), more || theirs.Next != nil
			}
		}) {
			out.Missing = append(out.Missing, missingNode{node})
		}
		slices.SortFunc(all, func(a, b callJSON) int { return compareAge(&b, &a) })
	}
	if len(all) > limit {
		all, more = all[:limit], true
	}
	if out.Items = all; all == nil {
		out.Items = []callJSON{}
	}
	if more && len(all) > 0 {
		out.Next = cursor(placeOf(&all[len(all)-1]))
	}
	write(w, r, out)
}

// placeOf names the place of a call in the list of all: no other call moves it.
func placeOf(c *callJSON) string {
	return strings.Join([]string{strconv.FormatInt(c.Began.UnixNano(), 10), c.Node, c.Call}, "/")
}

func readPlace(key string) (*callJSON, error) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) == 3 {
		if began, err := strconv.ParseInt(parts[0], 10, 64); err == nil {
			return &callJSON{Began: time.Unix(0, began), Node: parts[1], Call: parts[2]}, nil
		}
	}
	return nil, transport.Malformed("before: this is not a cursor of calls.")
}

// withoutPayload marks a request of a process for a reader who may not see arguments and results: the
// other one looks at the right of the process.
const withoutPayload = "payload=none"

// ownPayload marks one for a reader who may see arguments and results of their own calls alone.
const ownPayload = "payload=own"

// call is GET /api/calls/{id}: a call of any node, with arguments and result if they are kept and its
// reader may see them.
func (x callsFace) call(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	f := x.Face
	id := r.PathValue("id")
	out, found := x.callHere(r, c, id)
	if !found && f.mayLookElsewhere(c) {
		if !c.Can(bridge.MayAnswer) {
			r.URL.RawQuery = withoutPayload
			if c.Can(bridge.MayCall) {
				r.URL.RawQuery = ownPayload
			}
		}
		if holder := holderOf(r.Context(), f.peers(), id); holder != nil {
			passOn(holder, c).ServeHTTP(w, r)
			return
		}
	}
	if !found {
		noCall(w, r)
		return
	}
	_, out.Recorded = recordedCall(f, id)
	write(w, r, out)
}

// holderOf returns the process that remembers a call; nil when none does.
func holderOf(ctx context.Context, peers map[string]http.RoundTripper, id string) (holder http.RoundTripper) {
	eachPeer(ctx, peers, "/api/calls/"+url.PathEscape(id)+"?"+withoutPayload, func(name string, _ *http.Response) { holder = peers[name] })
	return holder
}

// callHere returns a call of this process.
func (x callsFace) callHere(r *http.Request, c bridge.Caller, id string) (out runJSON, found bool) {
	f := x.Face
	out.callJSON, found = f.records.find(id)
	if found && !c.Sees(out.Site) {
		return runJSON{}, false
	}
	m, kept := f.records.runs.find(id)
	out.Replays, out.Replayed = m.call.Replays, f.records.runs.replayed(id)
	own := kept && m.caller == ownName(c) && c.Can(bridge.MayCall)
	others := !kept
	if others {
		m, kept = f.records.others.find(id)
	} else if !found && c.Sees(m.call.Site) { // it is not remembered yet
		out.callJSON, found = m.call, true
	}
	if !kept || !own && (!c.Can(bridge.MayAnswer) || r.URL.RawQuery == ownPayload) || !c.Sees(m.call.Site) || others && !found || r.URL.RawQuery == withoutPayload {
		return out, found
	}
	out.Kept, out.Input = true, m.input
	if !others { // it may not be remembered yet
		m.call.factsJSON = out.factsJSON
		out.callJSON = m.call
	}
	if m.end != nil {
		out.Result, out.Files = m.end.Data, transport.FilesOf(r, m.end.Files)
		if m.end.Err != nil {
			out.Result, out.Error = nil, transport.NewErrorBody(m.end.Err)
		}
	}
	return out, true
}
