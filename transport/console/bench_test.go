package console

import (
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// BenchmarkCall measures what remembering calls costs one: with none who watches, and with Records.
func BenchmarkCall(b *testing.B) {
	for name, gathers := range map[string]bool{"unwatched": false, "remembered": true} {
		b.Run(name, func(b *testing.B) {
			br, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("find", "")), bridge.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer br.Close()
			var rs Records
			if gathers {
				rs.Gather(b.Context(), br, "here")
			}
			input := bridgetest.JSON(`{}`)
			for b.Loop() {
				if _, err := br.Do(b.Context(), &bridge.Call{Site: "shop", Tool: "find", Caller: bridge.Local(), Input: input}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFilter measures a filter of all that is remembered.
func BenchmarkFilter(b *testing.B) {
	var rs Records
	for n := range maxRecords {
		rs.take(&callJSON{Call: time.Duration(n).String(), Site: "shop", Tool: "find", Caller: "agent", Status: statusOK, Began: time.Unix(int64(n), 0)})
	}
	for b.Loop() {
		want, err := readFilter("site:shop status:error duration:>500ms agent", time.Now())
		if err != nil {
			b.Fatal(err)
		}
		rs.list(want, nil, 1000)
	}
}
