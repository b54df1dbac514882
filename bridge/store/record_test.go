package store

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// What a record must look like for ever: a change of these bytes makes every
// audit that exists fail.
func TestFormatOfRecords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 5, time.UTC)
	line, end, err := chain{}.seal(newRecord(kindIntent, 3, at, at.Add(-time.Second), bridge.AuditRecord{
		Wait: true, Call: "c", Caller: "agent", Site: "shop", Tool: "buy<", Arguments: "ab", ArgumentBytes: 7,
	}))
	ok(t, err)
	const hash = "56001e9725e7a787acea8413a7115a1fc005a114e945a9f64808a8a09dae845a"
	const want = `{"seq":1,"kind":"intent","ticket":3,"time":"2026-11-22T12:00:00.000000005Z","mono":1000000000,` +
		`"call":"c","caller":"agent","site":"shop","tool":"buy\u003c","arguments":"ab","argumentBytes":7,"hash":"` + hash + `"}` + "\n"
	if string(line) != want || hex.EncodeToString(end.hash[:]) != hash || end.seq != 1 {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "a\xffb": "a\uFFFDb", strings.Repeat("a", 513): strings.Repeat("a", 512),
		strings.Repeat("a", 511) + "ä": strings.Repeat("a", 511), strings.Repeat("a", 510) + "äx": strings.Repeat("a", 510) + "ä",
	} {
		if got := clip(in); got != want {
			t.Errorf("clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"seq":1,"kind":"intent","ticket":1,"time":"t","mono":0,"hash":"00"}`))
	line, _, err := chain{}.seal(&record{Kind: kindIntent})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.TrimSuffix(line, []byte("\n")))
	f.Add([]byte(`{"seq":1,"seq":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		body, _, err := unseal(b)
		if err != nil {
			return
		}
		r, err := decodeRecord(body)
		if err != nil {
			return
		}
		line, _, err := (chain{seq: r.Seq - 1}).seal(r)
		ok(t, err)
		body, _, err = unseal(bytes.TrimSuffix(line, []byte("\n")))
		ok(t, err)
		if again := must(decodeRecord(body))(t); *again != *r {
			t.Errorf("%+v became %+v", r, again)
		}
	})
}

func FuzzDecodeMark(f *testing.F) {
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	s, err := openSigner(root)
	if err != nil {
		f.Fatal(err)
	}
	own, err := s.line(newMark(markEnd, "id", 1, chain{seq: 1}, time.Now()))
	if err != nil {
		f.Fatal(err)
	}
	own = bytes.TrimSuffix(own, []byte("\n"))
	f.Add(own)
	f.Add([]byte(`{"mark":"end","chain":"c","file":1,"seq":1,"hash":"00","time":"t","key":"k","signature":"s"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m mark
		if err := decodeExactly(b, &m); err == nil && s.own(m) && !bytes.Equal(b, own) {
			t.Errorf("nobody signed %s", b)
		}
	})
}
