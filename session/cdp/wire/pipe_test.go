package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/chromedp/cdproto"
)

// nowhere takes what is written.
type nowhere struct{ bytes.Buffer }

func (*nowhere) Close() error { return nil }

func reading(r io.Reader, limit int) *pipe { return newPipe(io.NopCloser(r), &nowhere{}, limit) }

// readAllOf reads until an error, and returns short forms of the messages.
func readAllOf(p *pipe) (seen []string, err error) {
	for {
		var m cdproto.Message
		if err := p.Read(context.Background(), &m); err != nil {
			return seen, err
		}
		s := string(m.Method) + "/" + string(m.SessionID) + "/" + string(m.Result)
		if isTooLong(&m) {
			s = "too long/" + string(m.SessionID)
		}
		if m.ID != 0 {
			s += "#" + string(rune('0'+m.ID))
		}
		seen = append(seen, s)
	}
}

func TestPipeRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10) // more than the buffer of the reader
	tests := []struct {
		name, in string
		want     []string
		err      error
	}{
		{"nothing", "", nil, io.EOF},
		{"one", `{"id":1,"result":{"a":1}}` + "\x00", []string{`//{"a":1}#1`}, io.EOF},
		{"two, and empty frames", "\x00\x00" + `{"method":"A.b"}` + "\x00 \n\x00" + `{"method":"C.d","sessionId":"S"}` + "\x00", []string{"A.b//", "C.d/S/"}, io.EOF},
		{"the end in the middle", `{"method":"A.b"}` + "\x00" + `{"meth`, []string{"A.b//"}, io.ErrUnexpectedEOF},
		{"of the buffer's size", `{"id":2,"result":"` + long + `"}` + "\x00" + `{"id":3}` + "\x00", []string{`//"` + long + `"#2`, "//#3"}, io.EOF},
		{"lone surrogates", `{"id":1,"result":"\ud800"}` + "\x00", []string{`//"\ud800"#1`}, io.EOF},
		{"too long, an event", `{"method":"A.b","params":{"x":"` + strings.Repeat(long, 3) + `"},"sessionId":"S1"}` + "\x00" + `{"id":4}` + "\x00",
			[]string{"too long/S1", "//#4"}, io.EOF},
		{"too long, a reply", `{"id":5,"result":{"x":"` + strings.Repeat(long, 3) + `"},"sessionId":"S1"}` + "\x00", []string{"too long/S1#5"}, io.EOF},
		{"too long, of the browser", `{"id":6,"result":"` + strings.Repeat(long, 3) + `"}` + "\x00", []string{"too long/#6"}, io.EOF},
		{"too long, with a forged session", `{"id":7,"result":"` + strings.Repeat(long, 3) + `\"sessionId\":\"S9\""}` + "\x00", []string{"too long/#7"}, io.EOF},
		{"too long, and the end", `{"id":8,"result":"` + strings.Repeat(long, 3), nil, io.ErrUnexpectedEOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"at once": strings.NewReader(test.in), "byte by byte": iotest.OneByteReader(strings.NewReader(test.in)),
				"in halves": iotest.HalfReader(strings.NewReader(test.in)), "data with the end": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got, err := readAllOf(reading(r, 200<<10))
				if strings.Join(got, "|") != strings.Join(test.want, "|") || !errors.Is(err, test.err) {
					t.Errorf("%s: got %.200q, %v", how, got, err)
				}
			}
		})
	}
	if _, err := readAllOf(reading(strings.NewReader("{]\x00"), 100)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("what is no JSON: %v", err)
	}
}

func TestPipeKeepsNoBigBuffer(t *testing.T) {
	t.Parallel()
	p := reading(strings.NewReader(`{"id":1,"result":"`+strings.Repeat("x", 4<<20)+`"}`+"\x00"+`{"id":2}`+"\x00"), maxMessage)
	_, _ = readAllOf(p)
	if cap(p.buf) > 1<<20 {
		t.Errorf("it keeps %d bytes", cap(p.buf))
	}
}

func TestPipeWrite(t *testing.T) {
	t.Parallel()
	var w nowhere
	p := newPipe(io.NopCloser(strings.NewReader("")), &w, 100)
	for id := int64(1); id <= 2; id++ {
		if err := p.Write(t.Context(), &cdproto.Message{ID: id, Method: "A.b", SessionID: "S", Params: []byte(`{"s":"\u0000"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	frames := strings.Split(w.String(), "\x00")
	if len(frames) != 3 || frames[2] != "" || frames[1] != `{"id":2,"sessionId":"S","method":"A.b","params":{"s":"\u0000"}}` {
		t.Errorf("it wrote %q", frames)
	}
}

func FuzzPipe(f *testing.F) {
	f.Add([]byte("{\"id\":1}\x00\x00{\"method\":\"a\"}\x00{"), 8)
	f.Add([]byte(`{"id":1,"result":"`+strings.Repeat("x", 300)+`"},"sessionId":"S"}`+"\x00"), 100)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + max(limit, -limit)%1000
		a, errA := readAllOf(reading(bytes.NewReader(in), limit))
		b, errB := readAllOf(reading(iotest.OneByteReader(bytes.NewReader(in)), limit))
		if strings.Join(a, "|") != strings.Join(b, "|") || errors.Is(errA, io.EOF) != errors.Is(errB, io.EOF) {
			t.Errorf("at once %q, %v; byte by byte %q, %v", a, errA, b, errB)
		}
	})
}
