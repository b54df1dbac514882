package bridgetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// MemoryOptions bound what a store keeps; zero is its own bound.
type MemoryOptions struct {
	// MaxKeys and MaxReplyBytes bound keys of a caller and their replies, MaxVersionBytes the documents of
	// a site.
	MaxKeys                        int
	MaxReplyBytes, MaxVersionBytes int64
}

// Open returns a new and empty store.
type Open func(*testing.T, MemoryOptions) bridge.Memory

// The bounds of every store.
const (
	MaxKnown    = 4096
	MaxVersions = 256
)

// noon is a time of tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testAll(t *testing.T, open Open, tests map[string]func(*testing.T, Open)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// CheckReplies checks a bridge.Replies.
func CheckReplies(t *testing.T, open Open) {
	t.Helper()
	testAll(t, open, map[string]func(*testing.T, Open){"replies": repliesConform, "begun": begunConform, "reply bounds": replyBoundsConform, "one claim of many": oneClaimConforms})
}

// CheckGrants checks a bridge.Grants and a bridge.KnownTools.
func CheckGrants(t *testing.T, open Open) {
	t.Helper()
	testAll(t, open, map[string]func(*testing.T, Open){"grants": grantsConform, "known tools": knownToolsConform, "known bound": knownBoundConforms})
}

// CheckVersions checks a webtool.Store.
func CheckVersions(t *testing.T, open Open) {
	t.Helper()
	testAll(t, open, map[string]func(*testing.T, Open){"versions": versionsConform, "version conflicts": versionConflictsConform,
		"version bound": versionBoundConforms, "version bytes": versionBytesConform})
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func version(number, digest string) webtool.Record {
	return webtool.Record{Version: number, Digest: digest, Document: []byte(`{"name":"shop","version":"` + number + `"}`), LastSeen: noon.Add(123456789)}
}

func history(t *testing.T, v webtool.Store, name string) []webtool.Record {
	t.Helper()
	all := must(v.Load(t.Context(), name))(t)
	for i := range all {
		all[i].Document = must(v.Document(t.Context(), name, all[i].Version))(t)
	}
	return all
}

func repliesConform(t *testing.T, open Open) {
	t.Helper()
	ctx, r := t.Context(), open(t, MemoryOptions{}).Replies
	begin := func(caller, key, body string) bridge.ReplyState {
		t.Helper()
		return must(r.Begin(ctx, caller, key, body))(t)
	}
	first := begin("agent", "k", "b")
	if first.Status != bridge.ReplyClaimed || len(first.Claim) != 32 {
		t.Fatalf("the first gets %v", first)
	}
	if got := begin("agent", "k", "b"); got.Status != bridge.ReplyInFlight || got.Claim != first.Claim {
		t.Errorf("the second gets %v", got)
	}
	if got := begin("agent", "k", "c"); got.Status != bridge.ReplyOtherBody || got.Claim != first.Claim {
		t.Errorf("another body gets %v", got)
	}
	if got := begin("other", "k", "c"); got.Status != bridge.ReplyClaimed {
		t.Errorf("another caller gets %v", got)
	}
	reply := []byte("{\"a\":\x00}")
	ok(t, r.Finish(ctx, first.Claim, reply))
	if got := begin("agent", "k", "b"); got.Status != bridge.ReplyFinished || !bytes.Equal(got.Reply, reply) {
		t.Errorf("after the end: %v", got)
	}
	if got := begin("agent", "k", "c"); got.Status != bridge.ReplyOtherBody {
		t.Errorf("another body after the end: %v", got)
	}
	for name, err := range map[string]error{
		"finish twice": r.Finish(ctx, first.Claim, reply), "abandon the finished": r.Abandon(ctx, first.Claim),
		"finish nothing": r.Finish(ctx, "none", reply), "abandon nothing": r.Abandon(ctx, "none"),
	} {
		if !errors.Is(err, bridge.ErrClaimLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	given := begin("agent", "free", "b")
	ok(t, r.Abandon(ctx, given.Claim))
	if got := begin("agent", "free", "c"); got.Status != bridge.ReplyClaimed || got.Claim == given.Claim {
		t.Errorf("an abandoned key gives %v", got)
	}
	empty := begin("agent", "empty", "b")
	ok(t, r.Finish(ctx, empty.Claim, nil))
	if got := begin("agent", "empty", "b"); got.Status != bridge.ReplyFinished || len(got.Reply) != 0 {
		t.Errorf("an empty reply gives %v", got)
	}
}

func begunConform(t *testing.T, open Open) {
	t.Helper()
	ctx, r := t.Context(), open(t, MemoryOptions{}).Replies
	begin := func(caller, key, body string) bridge.ReplyState {
		t.Helper()
		return must(r.Begin(ctx, caller, key, body))(t)
	}
	begun := begin("agent", "begun", "b")
	ok(t, r.Begun(ctx, begun.Claim))
	ok(t, r.Begun(ctx, begun.Claim))
	if got := begin("agent", "begun", "b"); got.Status != bridge.ReplyInFlight {
		t.Errorf("one that began gives %v", got)
	}
	ok(t, r.Abandon(ctx, begun.Claim)) // it was not dispatched after all
	begun = begin("agent", "begun", "b")
	if begun.Status != bridge.ReplyClaimed {
		t.Errorf("one that began and did not run gives %v", begun)
	}
	ok(t, r.Begun(ctx, begun.Claim))
	long := []byte(strings.Repeat("0123456789", 150_000))
	ok(t, r.Finish(ctx, begun.Claim, long))
	if got := begin("agent", "begun", "b"); got.Status != bridge.ReplyFinished || !bytes.Equal(got.Reply, long) {
		t.Errorf("a long reply gives %s and %d bytes", got.Status, len(got.Reply))
	}
}

func replyBoundsConform(t *testing.T, open Open) {
	t.Helper()
	ctx := t.Context()
	r := open(t, MemoryOptions{MaxKeys: 4, MaxReplyBytes: 100}).Replies
	var states []bridge.ReplyState
	for i := range 4 {
		states = append(states, must(r.Begin(ctx, "agent", strconv.Itoa(i), "b"))(t))
	}
	if _, err := r.Begin(ctx, "agent", "4", "b"); !errors.Is(err, bridge.ErrTooManyKeys) {
		t.Errorf("one key too many: %v", err)
	}
	if got := must(r.Begin(ctx, "other", "4", "b"))(t); got.Status != bridge.ReplyClaimed {
		t.Errorf("another caller gets %v", got)
	}
	body := []byte(strings.Repeat("x", 49)) // two of them are 100 bytes
	for i := range 3 {
		ok(t, r.Finish(ctx, states[i].Claim, body))
	}
	ok(t, r.Finish(ctx, states[3].Claim, []byte(strings.Repeat("x", 100))))
	var got []bridge.ReplyStatus
	for i := range 4 {
		got = append(got, must(r.Begin(ctx, "agent", strconv.Itoa(i), "b"))(t).Status)
	}
	if want := []bridge.ReplyStatus{bridge.ReplyUnknown, bridge.ReplyFinished, bridge.ReplyFinished, bridge.ReplyUnknown}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func oneClaimConforms(t *testing.T, open Open) {
	t.Helper()
	ctx, r := t.Context(), open(t, MemoryOptions{}).Replies
	var claimed atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			state, err := r.Begin(ctx, "agent", "k", "b")
			if err != nil {
				t.Error(err)
			}
			if state.Status == bridge.ReplyClaimed {
				claimed.Add(1)
			}
		})
	}
	all.Wait()
	if claimed.Load() != 1 {
		t.Errorf("%d of 50 got the claim", claimed.Load())
	}
}

func grantsConform(t *testing.T, open Open) {
	t.Helper()
	ctx, g := t.Context(), open(t, MemoryOptions{}).Grants
	put := func(by string) bridge.Grant {
		t.Helper()
		return must(g.Put(ctx, bridge.Grant{GrantUse: bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "buy", Digest: "d1", Credential: "c1", Config: "p1"}, GivenBy: by, GivenAt: noon}))(t)
	}
	exact := put("ann")
	if len(exact.ID) != 32 {
		t.Errorf("the ID is %q", exact.ID)
	}
	use := bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "buy", Digest: "d1", Credential: "c1", Config: "p1"}
	if got, found, err := g.Find(ctx, use); err != nil || !found || got != exact {
		t.Errorf("found %v %v %v, want %v", got, found, err, exact)
	}
	for name, change := range map[string]func(*bridge.GrantUse){
		"caller": func(u *bridge.GrantUse) { u.Caller = "other" }, "site": func(u *bridge.GrantUse) { u.Site = "other" },
		"tool": func(u *bridge.GrantUse) { u.Tool = "Buy" }, "digest": func(u *bridge.GrantUse) { u.Digest = "d2" },
		"space": func(u *bridge.GrantUse) { u.Digest = "d1 " }, "nothing": func(u *bridge.GrantUse) { *u = bridge.GrantUse{} },
		"credential": func(u *bridge.GrantUse) { u.Credential = "c2" }, "no credential": func(u *bridge.GrantUse) { u.Credential = "" },
		"config": func(u *bridge.GrantUse) { u.Config = "p2" }, "no config": func(u *bridge.GrantUse) { u.Config = "" },
	} {
		other := use
		change(&other)
		if got, found, err := g.Find(ctx, other); err != nil || found {
			t.Errorf("another %s: %v %v %v", name, got, found, err)
		}
	}
	newer := put("bob")
	if got, found, _ := g.Find(ctx, use); !found || got != newer {
		t.Errorf("the newest is %v, found %v", newer, got)
	}
	if got := must(g.All(ctx))(t); !slices.Equal(got, []bridge.Grant{exact, newer}) {
		t.Errorf("all are %v", got)
	}
	if !must(g.Revoke(ctx, newer.ID))(t) {
		t.Error("the newest is not revoked")
	}
	if got, found, _ := g.Find(ctx, use); !found || got != exact {
		t.Errorf("found %v, want %v", got, exact)
	}
	if !must(g.Revoke(ctx, exact.ID))(t) || must(g.Revoke(ctx, exact.ID))(t) {
		t.Error("a grant is revoked once")
	}
	if _, found, _ := g.Find(ctx, use); found {
		t.Error("a revoked grant is found")
	}
	for _, bad := range []bridge.Grant{exact, {}, {GrantUse: bridge.GrantUse{Caller: "a", Site: "s", Tool: "t"}, GivenBy: "p"}} {
		if _, err := g.Put(ctx, bad); err == nil {
			t.Errorf("%v was kept", bad)
		}
	}
}

func knownToolsConform(t *testing.T, open Open) {
	t.Helper()
	ctx, k := t.Context(), open(t, MemoryOptions{}).KnownTools
	if got := must(k.Known(ctx, "shop"))(t); got != nil {
		t.Errorf("a new site knows %v", got)
	}
	b, a := bridge.KnownTool{Tool: "b", SeenAt: noon}, bridge.KnownTool{Tool: "a", SeenAt: noon}
	ok(t, k.SetKnown(ctx, "shop", []bridge.KnownTool{b, a}))
	ok(t, k.SetKnown(ctx, "other", []bridge.KnownTool{{Tool: "c"}}))
	if got := must(k.Known(ctx, "shop"))(t); !slices.Equal(got, []bridge.KnownTool{a, b}) {
		t.Errorf("known are %v", got)
	}
	b.SeenAt = noon.Add(time.Hour)
	ok(t, k.SetKnown(ctx, "shop", []bridge.KnownTool{b}))
	if got := must(k.Known(ctx, "shop"))(t); !slices.Equal(got, []bridge.KnownTool{a, b}) {
		t.Errorf("known are %v", got)
	}
}

func knownBoundConforms(t *testing.T, open Open) {
	t.Helper()
	gatetest.NoRace(t)
	ctx, k := t.Context(), open(t, MemoryOptions{}).KnownTools
	var tools []bridge.KnownTool
	for i := range MaxKnown {
		tools = append(tools, bridge.KnownTool{Tool: fmt.Sprintf("t%05d", i), SeenAt: noon.Add(time.Duration(i))})
	}
	ok(t, k.SetKnown(ctx, "shop", tools))
	if got := must(k.Known(ctx, "shop"))(t); len(got) != MaxKnown {
		t.Fatalf("at the limit %d are known", len(got))
	}
	ok(t, k.SetKnown(ctx, "shop", []bridge.KnownTool{{Tool: "new", SeenAt: noon.Add(time.Hour)}}))
	got := must(k.Known(ctx, "shop"))(t)
	if len(got) != MaxKnown || got[0].Tool != "new" || got[1].Tool != "t00001" {
		t.Errorf("one past the limit %d are known, from %v", len(got), got[:2])
	}
}

func versionsConform(t *testing.T, open Open) {
	t.Helper()
	ctx, v := t.Context(), open(t, MemoryOptions{}).Versions
	if got := must(v.Load(ctx, "shop"))(t); got != nil {
		t.Errorf("a new webtool has the history %v", got)
	}
	first, second := version("1.0.0", "a"), version("2.0.0", "b")
	ok(t, v.Append(ctx, "shop", first))
	ok(t, v.Append(ctx, "shop", second))
	ok(t, v.Append(ctx, "other", version("1.0.0", "b")))
	if got, want := history(t, v, "shop"), []webtool.Record{first, second}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	at := first.LastSeen.Add(time.Hour)
	ok(t, v.Seen(ctx, "shop", "1.0.0", at))
	ok(t, v.Seen(ctx, "shop", "1.0.0", at.Add(-time.Minute))) // never backwards
	ok(t, v.Seen(ctx, "shop", "9.0.0", at))
	got := must(v.Load(ctx, "shop"))(t)
	if !got[0].LastSeen.Equal(at) || !got[1].LastSeen.Equal(second.LastSeen) {
		t.Errorf("seen at %v: %v", at, got)
	}
	must(v.Document(ctx, "shop", "1.0.0"))(t)[2] = 'X'
	if again := must(v.Document(ctx, "shop", "1.0.0"))(t); string(again) != string(first.Document) {
		t.Errorf("a caller changed what is kept: %s", again)
	}
	if d := must(v.Document(ctx, "shop", "9.0.0"))(t); d != nil || got[0].Document != nil {
		t.Errorf("a version that there is not is %s, and the history has documents", d)
	}
	for _, r := range []webtool.Record{{}, {Version: "1.0.0", Digest: "x"}, {Version: "1.0.0", Document: []byte("{}")}} {
		if err := v.Append(ctx, "empty", r); err == nil {
			t.Errorf("%v was kept", r)
		}
	}
}

func versionConflictsConform(t *testing.T, open Open) {
	t.Helper()
	ctx, v := t.Context(), open(t, MemoryOptions{}).Versions
	kept := version("1.0.0", "a")
	ok(t, v.Append(ctx, "shop", kept))
	again := kept
	again.Document = []byte(`{ "version": "1.0.0", "name": "shop" }`) // the same, written otherwise
	again.LastSeen = kept.LastSeen.Add(time.Hour)
	ok(t, v.Append(ctx, "shop", again))
	otherDocument := kept
	otherDocument.Document = []byte(`{"name":"shop","version":"1.0.0","more":1}`)
	for name, r := range map[string]webtool.Record{
		"number": version("1.0.0", "b"), "digest": version("1.0.1", "a"), "document": otherDocument,
	} {
		if err := v.Append(ctx, "shop", r); !errors.Is(err, webtool.ErrConflict) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	got := history(t, v, "shop")
	if len(got) != 1 || string(got[0].Document) != string(kept.Document) || !got[0].LastSeen.Equal(again.LastSeen) {
		t.Errorf("kept %v", got)
	}
}

func versionBoundConforms(t *testing.T, open Open) {
	t.Helper()
	gatetest.NoRace(t)
	ctx, v := t.Context(), open(t, MemoryOptions{}).Versions
	for i := range MaxVersions {
		ok(t, v.Append(ctx, "shop", version(strconv.Itoa(i)+".0.0", "d"+strconv.Itoa(i))))
	}
	if got := must(v.Load(ctx, "shop"))(t); len(got) != MaxVersions || got[0].Version != "0.0.0" {
		t.Fatalf("at the limit %d are kept, from %s", len(got), got[0].Version)
	}
	ok(t, v.Append(ctx, "shop", version("new", "new")))
	got := must(v.Load(ctx, "shop"))(t)
	if len(got) != MaxVersions || got[0].Version != "1.0.0" || got[MaxVersions-1].Version != "new" {
		t.Errorf("one past the limit %d are kept, from %s to %s", len(got), got[0].Version, got[len(got)-1].Version)
	}
}

// versionBytesConform (B1): a site's documents are bounded in bytes, at the limit and one
// past it; numbers of webtools that are still seen are not given again.
func versionBytesConform(t *testing.T, open Open) {
	t.Helper()
	gatetest.NoRace(t)
	ctx := t.Context()
	sized := func(number, digest string, bytes int) webtool.Record {
		r := version(number, digest)
		r.Document = []byte(`"` + strings.Repeat("x", bytes-2) + `"`)
		return r
	}
	v := open(t, MemoryOptions{MaxVersionBytes: 1000}).Versions
	ok(t, v.Append(ctx, "shop", sized("1.0.0", "a", 400)))
	ok(t, v.Append(ctx, "shop", sized("1.0.1", "b", 100)))
	ok(t, v.Append(ctx, "shop/buy", sized("1.0.0", "a", 500)))
	ok(t, v.Append(ctx, "shopping", sized("1.0.0", "a", 900))) // another site
	if n := len(history(t, v, "shop")) + len(history(t, v, "shop/buy")); n != 3 {
		t.Errorf("at the limit %d are kept", n)
	}
	ok(t, v.Append(ctx, "shop/sell", sized("1.0.0", "a", 2)))
	if got := history(t, v, "shop"); len(got) != 1 || got[0].Version != "1.0.1" {
		t.Errorf("one past it, %v are kept", got)
	}
	if len(history(t, v, "shop/buy")) != 1 || len(history(t, v, "shopping")) != 1 {
		t.Error("the newest of a webtool, or another site's, went before an old one")
	}
	for i := range 100 { // names without end
		r := sized("1.0.0", "a", 100)
		r.LastSeen = r.LastSeen.Add(time.Duration(i) * time.Second)
		ok(t, v.Append(ctx, "shop/t"+strconv.Itoa(i), r))
	}
	if len(history(t, v, "shop/t0"))+len(history(t, v, "shop/t1")) != 0 || len(history(t, v, "shop/t99")) != 1 {
		t.Error("of names without end, the oldest are kept, or the newest is not")
	}
}
