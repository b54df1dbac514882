package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// maxMessage caps one protocol message, in bytes. A page whose message is
// longer is closed.
const maxMessage = 64 << 20

// writePatience limits how long a browser may take nothing from its pipe.
const writePatience = 5 * time.Second

// tooLongCode marks a message that stands for one that was too long. It is not
// a code of the protocol.
const tooLongCode = -1

// pipe is a Transport over the two pipes of a browser: JSON messages that end
// with one zero byte, in both directions. Unlike chromedp's own it bounds what
// it reads.
type pipe struct {
	r     io.ReadCloser
	w     io.WriteCloser
	in    *bufio.Reader
	buf   []byte
	limit int

	mu  sync.Mutex // serialises Write
	out bytes.Buffer
}

var _ chromedp.Transport = (*pipe)(nil)

// NewPipe makes the Transport over the pipes of a browser, which writes to r and reads
// from w.
func NewPipe(r io.ReadCloser, w io.WriteCloser) chromedp.Transport {
	return newPipe(r, w, maxMessage)
}

func newPipe(r io.ReadCloser, w io.WriteCloser, limit int) *pipe {
	return &pipe{r: r, w: w, in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Read returns the next message. One that is longer than the limit is skipped
// without being held, and reported as an error of the session that it belongs
// to.
func (p *pipe) Read(_ context.Context, msg *cdproto.Message) error {
	for {
		b, tail, err := p.frame()
		if err != nil {
			return err
		}
		if tail != nil {
			*msg = tooLong(b, tail)
			return nil
		}
		if len(bytes.TrimSpace(b)) == 0 {
			continue
		}
		return jsonv2.Unmarshal(b, msg, chromedp.DefaultUnmarshalOptions)
	}
}

// frame reads up to the next zero byte. With a message over the limit it returns
// its first and its last bytes; tail is nil otherwise.
func (p *pipe) frame() (b, tail []byte, err error) {
	if cap(p.buf) > 1<<20 { // one big message must not be paid for for ever
		p.buf = nil
	}
	p.buf = p.buf[:0]
	const keep = 256
	for {
		part, err := p.in.ReadSlice(0)
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !full {
			if errors.Is(err, io.EOF) && len(p.buf)+len(part) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, nil, err
		}
		switch {
		case tail != nil:
			tail = append(tail, part...)
			tail = tail[max(0, len(tail)-keep):]
		case len(p.buf)+len(part) > p.limit:
			tail = append([]byte{}, part[max(0, len(part)-keep):]...)
			kept := p.buf[:min(len(p.buf), keep)]
			p.buf = slices.Concat(kept, part[:min(len(part), keep-len(kept))])
		default:
			p.buf = append(p.buf, part...)
		}
		if full {
			continue
		}
		if tail != nil {
			return p.buf, bytes.TrimSuffix(tail, []byte{0}), nil
		}
		return bytes.TrimSuffix(p.buf, []byte{0}), nil, nil
	}
}

// tooLong makes the message that stands for one that was too long: Chromium
// writes the id first and the session last.
func tooLong(head, tail []byte) cdproto.Message {
	m := cdproto.Message{Error: &cdproto.Error{Code: tooLongCode, Message: "message too long"}}
	if rest, ok := bytes.CutPrefix(head, []byte(`{"id":`)); ok {
		digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
		m.ID, _ = strconv.ParseInt(string(digits), 10, 64)
	}
	const mark = `"sessionId":"`
	if i := bytes.LastIndex(tail, []byte(mark)); i >= 0 {
		id, _, _ := bytes.Cut(tail[i+len(mark):], []byte(`"`))
		m.SessionID = cdptarget.SessionID(id)
	}
	return m
}

// Write sends a message in one piece.
func (p *pipe) Write(_ context.Context, msg *cdproto.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Reset()
	b, err := jsonv2.Marshal(msg, chromedp.DefaultMarshalOptions)
	if err != nil {
		return fmt.Errorf("encoding a command: %w", err)
	}
	p.out.Write(b)
	p.out.WriteByte(0)
	if f, ok := p.w.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = f.SetWriteDeadline(time.Now().Add(writePatience)) // what has no deadlines waits
	}
	_, err = p.w.Write(p.out.Bytes())
	return err
}

// Close closes both ends, which makes the browser exit.
func (p *pipe) Close() error { return errors.Join(p.r.Close(), p.w.Close()) }
