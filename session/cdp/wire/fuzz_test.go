package wire

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// FuzzConn: whatever frames a browser sends, each command has one end, a reply ends the command
// of its number only, and the connection goes on.
func FuzzConn(f *testing.F) {
	for _, seed := range []string{
		`{"method":"Page.windowOpen","params":{"url":"x"},"sessionId":"A"}`, `{"id":1073741825,"result":{}}`, `{"id":1073741825,"error":{"code":-32001,"message":""}}`,
		`{"method":"Target.attachedToTarget","params":{"sessionId":"B","targetInfo":{"targetId":"T","type":"page","openerId":"O"},"waitingForDebugger":true}}`,
		`{"method":"Target.attachedToTarget","params":null}`, `{"method":"Target.detachedFromTarget","params":{"sessionId":"A"}}`, `{"method":"Inspector.targetCrashed","sessionId":"A"}`,
		`{"id":-1,"sessionId":"A"}`, `{}`, `{"id":1073741826,"error":{"code":0,"message":"too long"},"sessionId":"B"}`,
	} {
		f.Add([]byte(seed), []byte(`{"method":"Page.windowOpen","sessionId":"A"}`))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		onConn(t, func(t *testing.T, w *browser, c *Conn) {
			a, b := c.Open("A"), c.Open("B")
			c.Adopt("O", a)
			first := called(a, t.Context())
			sent := <-w.out
			replied := false
			for _, text := range [][]byte{one, two} {
				m := new(cdproto.Message)
				if jsonv2.Unmarshal(text, m) != nil {
					continue // what the pipe refuses
				}
				replied = replied || m.ID == sent.ID
				w.in <- m
				synctest.Wait()
			}
			select {
			case err := <-first:
				if !replied && a.Reason() == nil {
					t.Errorf("a command ended without its reply: %v", err)
				}
			default:
				if replied || a.Reason() != nil {
					t.Error("a command waits after its reply, or after its session")
				}
			}
			if b.Reason() != nil {
				return
			}
			for len(w.out) > 0 {
				<-w.out
			}
			last := called(b, t.Context())
			w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"B"}`, (<-w.out).ID))
			if err := <-last; err != nil {
				t.Errorf("afterwards a command fails: %v", err)
			}
		})
	})
}
