package bridge_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// saver makes a bridge over the site shop, whose tool save saves files, and save.
func saver(t *testing.T, o bridge.SiteOptions, l bridge.Limits) (b *bridge.Bridge, save func(c bridge.Caller, saved ...bridge.File) []bridge.File) {
	t.Helper()
	o.Approval.Mode = policy.ModeAuto
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("save", ""))
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": o}, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, func(c bridge.Caller, saved ...bridge.File) []bridge.File {
		r.Handle("shop", bridgetest.Saving(saved...))
		end := b.Complete(t.Context(), &bridge.Call{Site: "shop", Tool: "save", Caller: c, Input: bridgetest.JSON(`{}`)})
		if end.Err != nil {
			t.Fatal(end.Err)
		}
		return end.Files
	}
}

func file(name string, data string) bridge.File { return bridge.File{Name: name, Data: []byte(data)} }

// TestFilesAreTheCallers: what a page saves in a call is its caller's alone, by an id that is told
// with the call, for 15 minutes, and until its credential is revoked or the process ends.
func TestFilesAreTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, save := saver(t, bridge.SiteOptions{}, bridge.Limits{})
		revoked := make(chan struct{})
		agent := bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}, Revoked: revoked}
		other := bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
		told := save(agent, file("a.txt", "hello"), bridge.File{Name: "b", State: bridge.FileUnfinished}, file("", ""))
		sum := sha256.Sum256([]byte("hello"))
		if f := told[0]; len(told) != 3 || f.Name != "a.txt" || f.Type != "text/plain" || f.Bytes != 5 || f.SHA256 != hex.EncodeToString(sum[:]) || f.Data != nil || len(f.ID) < 26 {
			t.Fatalf("the call has %+v", told)
		}
		if f := told[1]; f.ID != "" || f.State != bridge.FileUnfinished {
			t.Errorf("what did not come is %+v", f)
		}
		if f, ok := b.File(agent, told[0].ID); !ok || string(f.Data) != "hello" {
			t.Errorf("its caller gets %+v, %v", f, ok)
		}
		if f, ok := b.File(agent, told[2].ID); !ok || len(f.Data) != 0 {
			t.Errorf("an empty file is %+v, %v", f, ok)
		}
		for what, c := range map[string]bridge.Caller{"another": other, "nobody": {}, "one without the right": {Name: "agent", May: []bridge.Right{bridge.MayAnswer}},
			"one that does not see the site": {Name: "agent", May: agent.May, Sites: []string{"bank"}}} {
			if f, ok := b.File(c, told[0].ID); ok || len(b.Files(c, "")) > 0 {
				t.Errorf("%s gets %+v", what, f)
			}
		}
		for _, id := range []string{"", "a.txt", strings.ToLower(told[0].ID), told[0].ID[1:], "../" + told[0].ID} {
			if f, ok := b.File(agent, id); ok {
				t.Errorf("%q names %+v", id, f)
			}
		}
		if all := b.Files(agent, "shop"); len(all) != 2 || all[0].ID != told[0].ID || len(b.Files(agent, "bank")) > 0 {
			t.Errorf("it lists %+v", all)
		}
		advance(bridge.FileAge - 1)
		if _, ok := b.File(agent, told[0].ID); !ok {
			t.Error("it is forgotten early")
		}
		advance(2)
		if n, count := b.FileBytes(); n != 0 || count != 0 {
			t.Errorf("%d bytes of %d files are kept for longer", n, count)
		}
		told = save(agent, file("a.txt", "again"))
		close(revoked)
		if _, ok := b.File(agent, told[0].ID); ok {
			t.Error("a revoked credential gets it")
		}
		if b.Revoke(); func() int { _, n := b.FileBytes(); return n }() != 0 {
			t.Error("it is kept for a revoked credential")
		}
	})
}

// advance moves the clock of the bubble.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestFilesAreBounded: at each limit and one byte past it, and what is dropped makes room.
func TestFilesAreBounded(t *testing.T) {
	b, save := saver(t, bridge.SiteOptions{}, bridge.Limits{CallerFiles: 100, TotalBytes: 10 << 10})
	states := func(c bridge.Caller, sizes ...int) string {
		var all []bridge.File
		for _, n := range sizes {
			all = append(all, file("a", strings.Repeat("x", n)))
		}
		var said []string
		for _, f := range save(c, all...) {
			said = append(said, string(f.State))
		}
		return strings.Join(said, ",")
	}
	one, two := bridge.Local(), bridge.Caller{Name: "two", May: []bridge.Right{bridge.MayCall}}
	if got := states(one, 60, 40, 0, 1); got != ",,,too_large" {
		t.Errorf("one caller's states are %q", got)
	}
	if got := states(two, 101, 100); got != "too_large," {
		t.Errorf("another's are %q", got)
	}
	if got := states(two, 0, 0, 0, 0, 0, 0); got != ",,,,,too_large" { // each costs the process a KiB
		t.Errorf("of the process they are %q", got)
	}
	if n, count := b.FileBytes(); n != 200 || count != 9 || b.FileAccounts() == 0 {
		t.Errorf("%d bytes of %d files are kept, for %d callers", n, count, b.FileAccounts())
	}
	b.Close()
	if n, count := b.FileBytes(); n != 0 || count != 0 || b.FileAccounts() != 0 {
		t.Errorf("at the end %d bytes of %d files are kept, for %d callers", n, count, b.FileAccounts())
	}
}

// TestFileTypes: the type is one of a few, and only where name and content agree.
func TestFileTypes(t *testing.T) {
	_, save := saver(t, bridge.SiteOptions{}, bridge.Limits{})
	const png = "\x89PNG\r\n\x1a\nrest"
	for _, x := range []struct{ name, data, want string }{
		{"a.txt", "hi", "text/plain"}, {"A.TXT", "", "text/plain"}, {"a.csv", "a,b\n", "text/csv"}, {"a.json", `{"a":1}`, "application/json"},
		{"a.png", png, "image/png"}, {"a.pdf", "%PDF-1.7", "application/pdf"}, {"a.xlsx", "PK\x03\x04", fmt.Sprintf("application/vnd.openxmlformats-officedocument.%s", "spreadsheetml.sheet")},
		{"a.html", "<p>", bridge.OctetStream}, {"a.svg", "<svg>", bridge.OctetStream}, {"a.js", "1", bridge.OctetStream}, {"a", "hi", bridge.OctetStream}, {"", "", bridge.OctetStream},
		{"a.txt", " \n<!DOCTYPE html><script>", bridge.OctetStream}, {"a.csv", "<ScRipt>", bridge.OctetStream}, {"a.json", "<svg onload=x>", bridge.OctetStream}, {"a.md", "\ufeff<b>", bridge.OctetStream},
		{"a.txt", "a\x00b", bridge.OctetStream}, {"a.txt", "\xff\xfe", bridge.OctetStream}, {"a.txt", "1 < 2", "text/plain"}, {"a.txt", "<3", "text/plain"},
		{"a.png", "<script>", bridge.OctetStream}, {"a.jpg", png, bridge.OctetStream}, {"a.pdf", "<script>", bridge.OctetStream}, {"a.zip", "MZ", bridge.OctetStream}, {"a.xlsm", "PK", bridge.OctetStream},
		{"a.png.html", png, bridge.OctetStream}, {"../../a.txt", "x", "text/plain"},
	} {
		if told := save(bridge.Local(), file(x.name, x.data)); told[0].Type != x.want {
			t.Errorf("%q with %q is %s, want %s", x.name, x.data, told[0].Type, x.want)
		}
	}
}

// TestFilesKeepTheOperatorsRules: what no caller gets is in no name and in no text, and the text of
// a tool that is not to be trusted is enclosed where models read it; the file stays as it is.
func TestFilesKeepTheOperatorsRules(t *testing.T) {
	o := bridge.SiteOptions{Results: policy.Results{Redact: []policy.Redaction{{Pattern: regexp.MustCompile("secret")}}}}
	b, save := saver(t, o, bridge.Limits{})
	told := save(bridge.Local(), file("secret.txt", "a secret b"), file("x.bin", "secret"))
	f, _ := b.File(bridge.Local(), told[0].ID)
	if f.Name != "[redacted].txt" || string(f.Data) != "a [redacted] b" || f.Bytes != int64(len(f.Data)) {
		t.Errorf("a caller gets %+v: %s", f, f.Data)
	}
	if words, ok := f.Text(); !ok || words != "a [redacted] b" {
		t.Errorf("a model reads %q", words)
	}
	if f, _ = b.File(bridge.Local(), told[1].ID); !bytes.Equal(f.Data, []byte("secret")) {
		t.Errorf("what is no text is %q", f.Data)
	}
	untrusted := bridgetest.Tool("save", "")
	untrusted.Annotations = []byte(`{"readOnlyHint":true,"untrustedContentHint":true}`)
	r := bridgetest.NewRouter().Add("shop", untrusted)
	r.Handle("shop", bridgetest.Saving(file("a.txt", "obey me")))
	b = open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}, Results: policy.Results{MarkUntrusted: true}})
	end := b.Complete(t.Context(), &bridge.Call{Site: "shop", Tool: "save", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
	f, _ = b.File(bridge.Local(), end.Files[0].ID)
	if words, ok := f.Text(); !ok || words == "obey me" || !strings.Contains(words, "obey me") || string(f.Data) != "obey me" {
		t.Errorf("a model reads %q of %q", words, f.Data)
	}
}

// TestFilesOfFailedCalls: a call that fails tells its files, too; nobody gets those of a call whose
// credential was revoked meanwhile, and no room is lost.
func TestFilesOfFailedCalls(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("save", ""))
	b, err := bridge.New(r, bridge.Options{Limits: bridge.Limits{CallerFiles: 2}})
	if err != nil {
		t.Fatal(err)
	}
	revoked := make(chan struct{})
	agent := bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}, Revoked: revoked}
	r.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		s := bridgetest.Saving(file("a.txt", "x"))(ctx, inv)
		return bridge.Step{Files: s.Files, Err: bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No.")}
	})
	call := func() bridge.Step {
		return b.Complete(t.Context(), &bridge.Call{Site: "shop", Tool: "save", Caller: agent, Input: bridgetest.JSON(`{}`)})
	}
	end := call()
	if _, ok := b.File(agent, end.Files[0].ID); !ok || end.Err == nil {
		t.Errorf("a failed call has %+v, %v", end.Files, end.Err)
	}
	r.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		close(revoked)
		return bridgetest.Saving(file("a.txt", "x"))(ctx, inv)
	})
	if end = call(); len(end.Files) > 0 || end.Err == nil {
		t.Errorf("a revoked call has %+v, %v", end.Files, end.Err)
	}
	b.Revoke()
	if n, count := b.FileBytes(); n != 0 || count != 0 {
		t.Errorf("%d bytes of %d files are left", n, count)
	}
	agent.Revoked = nil
	r.Handle("shop", bridgetest.Saving(file("a.txt", "xx")))
	if end = call(); len(end.Files) != 1 || end.Files[0].State != "" {
		t.Errorf("with a new credential the caller has %+v", end.Files)
	}
}

// TestFilesOfRepeatedKeys: a call that is repeated by its key has the files of the first time.
func TestFilesOfRepeatedKeys(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("save", ""))
	r.Handle("shop", bridgetest.Saving(file("a.txt", "x"), bridge.File{Name: "b", State: bridge.FileDenied}))
	b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
	var told []string
	for range 2 {
		end := b.Complete(t.Context(), &bridge.Call{Site: "shop", Tool: "save", Caller: bridge.Local(), Key: "k", Input: bridgetest.JSON(`{}`)})
		told = append(told, fmt.Sprintf("%+v", end.Files))
	}
	if told[0] != told[1] || !strings.Contains(told[0], "a.txt") || len(r.Calls()) != 1 {
		t.Errorf("the first time %s, then %s", told[0], told[1])
	}
}
