package store

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/webtool"
)

func versionsConform(t *testing.T, make func(Options) *Store) {
	ctx, v := t.Context(), make(Options{}).Versions
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

func versionConflictsConform(t *testing.T, make func(Options) *Store) {
	ctx, v := t.Context(), make(Options{}).Versions
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

func versionBoundConforms(t *testing.T, make func(Options) *Store) {
	gatetest.NoRace(t)
	ctx, v := t.Context(), make(Options{}).Versions
	for i := range maxVersions {
		ok(t, v.Append(ctx, "shop", version(strconv.Itoa(i)+".0.0", "d"+strconv.Itoa(i))))
	}
	if got := must(v.Load(ctx, "shop"))(t); len(got) != maxVersions || got[0].Version != "0.0.0" {
		t.Fatalf("at the limit %d are kept, from %s", len(got), got[0].Version)
	}
	ok(t, v.Append(ctx, "shop", version("new", "new")))
	got := must(v.Load(ctx, "shop"))(t)
	if len(got) != maxVersions || got[0].Version != "1.0.0" || got[maxVersions-1].Version != "new" {
		t.Errorf("one past the limit %d are kept, from %s to %s", len(got), got[0].Version, got[len(got)-1].Version)
	}
}

// versionBytesConform (B1): a site's documents are bounded in bytes, at the limit and one
// past it; numbers of webtools that are still seen are not given again.
func versionBytesConform(t *testing.T, make func(Options) *Store) {
	gatetest.NoRace(t)
	ctx := t.Context()
	sized := func(number, digest string, bytes int) webtool.Record {
		r := version(number, digest)
		r.Document = []byte(`"` + strings.Repeat("x", bytes-2) + `"`)
		return r
	}
	v := make(Options{MaxVersionBytes: 1000}).Versions
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
