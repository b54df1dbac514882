package vault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
)

func grant(caller, tool string) bridge.Grant {
	return bridge.Grant{GrantUse: bridge.GrantUse{Caller: caller, Site: "shop", Tool: tool, Digest: "d"}, GivenBy: "ann", GivenAt: time.Now()}
}

// TestGrantsOfNodes: of what several nodes put and revoke at once nothing is lost, and each sees it at once,
// whatever answers are lost.
func TestGrantsOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		n := 0
		w.fails(func(string, recordstest.Op) recordstest.Fault {
			n++
			return map[int]recordstest.Fault{0: recordstest.Lose, 1: recordstest.Fail}[n%13]
		})
		nodes := []*vault.Grants{vault.NewGrants(w.options("A")), vault.NewGrants(w.options("B")), vault.NewGrants(w.options("C"))}
		var all sync.WaitGroup
		const each = 8
		for i, g := range nodes {
			all.Go(func() {
				for j := range each {
					given, err := g.Put(ctx, grant("agent", fmt.Sprintf("%d-%d", i, j)))
					no(t, "put", err)
					if _, found, err := nodes[(i+1)%3].Find(ctx, given.GrantUse); !found || err != nil {
						t.Errorf("the next node does not see it, %v", err)
					}
					if j%2 == 0 {
						continue
					}
					if gone, err := nodes[(i+2)%3].Revoke(ctx, given.ID); !gone || err != nil {
						t.Errorf("revoked: %v, %v", gone, err)
					}
					if _, found, err := g.Find(ctx, given.GrantUse); found || err != nil {
						t.Errorf("one that was revoked is found, %v", err)
					}
				}
			})
		}
		all.Wait()
		w.fails(nil)
		if got, err := nodes[0].All(ctx); len(got) != 3*each/2 || err != nil {
			t.Errorf("%d grants, %v", len(got), err)
		}
	})
}

// TestGrantOnce: a grant whose answer is lost, and after which another node puts one, is kept once.
func TestGrantOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewGrants(w.options("A")), vault.NewGrants(w.options("B"))
		w.once(recordstest.Lose, "create", "g.", func() {
			_, err := b.Put(ctx, grant("agent", "sell"))
			no(t, "put", err)
		})
		_, err := a.Put(ctx, grant("agent", "buy"))
		no(t, "put", err)
		if all, err := a.All(ctx); len(all) != 2 || err != nil {
			t.Errorf("%v, %v", all, err)
		}
	})
}

// TestGrantsAreBounded: a caller that gets consent without end has the newest; another one's stay.
func TestGrantsAreBounded(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	ctx, w := t.Context(), newWorld()
	g := vault.NewGrants(w.options("A"))
	quiet, err := g.Put(ctx, grant("quiet", "buy"))
	no(t, "put", err)
	const most = 1000
	var first, second bridge.Grant
	for i := range most + 1 {
		given, err := g.Put(ctx, grant("loud", fmt.Sprint(i)))
		no(t, "put", err)
		switch i {
		case 0:
			first = given
		case 1:
			second = given
		}
	}
	if all, err := g.All(ctx); len(all) != most+1 || err != nil {
		t.Errorf("%d grants, %v", len(all), err)
	}
	for want, of := range map[bridge.GrantUse]bool{first.GrantUse: false, second.GrantUse: true, quiet.GrantUse: true} {
		if _, found, err := g.Find(ctx, want); found != of || err != nil {
			t.Errorf("%s of %s is found: %v, %v", want.Tool, want.Caller, found, err)
		}
	}
}

// TestHidden: what the engine has names nobody, and a record under another key opens nowhere.
func TestHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testHidden)
}

func testHidden(t *testing.T) {
	ctx, w := t.Context(), newWorld()
	o := w.options("A")
	hidden := map[string]string{}
	o.Name = func(parts ...string) string {
		name := fmt.Sprintf("N%d", len(hidden))
		if was, ok := hidden[strings.Join(parts, "/")]; ok {
			return was
		}
		hidden[strings.Join(parts, "/")] = name
		return name
	}
	g, k := vault.NewGrants(o), vault.NewKnown(o)
	given, err := g.Put(ctx, grant("agent", "buy-tool"))
	no(t, "put", err)
	no(t, "known", k.SetKnown(ctx, "shop", []bridge.KnownTool{{Tool: "buy-tool"}}))
	watching, stop := context.WithCancel(ctx)
	defer stop()
	moved := records.Record{}
	for _, prefix := range []string{"g.", "w."} {
		all, err := w.memory.Watch(watching, prefix)
		no(t, "watch", err)
		for r := range all {
			if r.IsMark() {
				break
			}
			var value struct{ Box []byte }
			no(t, "reading", json.Unmarshal(r.Value, &value))
			for _, secret := range []string{"agent", "shop", "buy-tool", given.ID, "ann"} {
				if strings.Contains(r.Key, secret) || strings.Contains(string(r.Value), secret) || strings.Contains(string(value.Box), secret) {
					t.Errorf("%s is in %s", secret, r.Key)
				}
			}
			moved = r
		}
	}
	if moved.Key[0] != 'w' {
		t.Fatal("there is no record of known tools")
	}
	_, err = w.memory.Create(ctx, "w."+o.Name("known", "bank"), moved.Value)
	no(t, "moved", err)
	if got, err := k.Known(ctx, "bank"); err == nil {
		t.Errorf("a record of another site says %v", got)
	}
}

// TestConsentWithoutEngine: consent that cannot be read is none, and the error says why.
func TestConsentWithoutEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		g, k := vault.NewGrants(w.options("A")), vault.NewKnown(w.options("A"))
		given, err := g.Put(ctx, grant("agent", "buy"))
		no(t, "put", err)
		if all, err := g.All(ctx); len(all) != 1 || err != nil {
			t.Errorf("all are %v, %v", all, err)
		}
		no(t, "known", k.SetKnown(ctx, "bank", []bridge.KnownTool{{Tool: "pay"}}))
		if all, err := k.Known(ctx, "bank"); len(all) != 1 || err != nil {
			t.Errorf("known are %v, %v", all, err)
		}
		w.fails(func(string, recordstest.Op) recordstest.Fault { return recordstest.Fail })
		began := time.Now()
		if all, err := g.All(ctx); len(all) != 1 || err != nil {
			t.Errorf("what was read last is %v, %v", all, err)
		}
		if all, err := k.Known(ctx, "bank"); len(all) != 1 || err != nil || all[0].Tool != "pay" || time.Since(began) > 100*time.Millisecond {
			t.Errorf("what was read last of a site is %v, %v, after %v", all, err, time.Since(began))
		}
		_, found, err := g.Find(ctx, given.GrantUse)
		if found {
			t.Error("it is found")
		}
		errs := map[string]error{"find": err, "known": k.SetKnown(ctx, "shop", []bridge.KnownTool{{Tool: "buy"}})}
		_, errs["put"] = g.Put(ctx, grant("agent", "buy"))
		_, errs["all"] = vault.NewGrants(w.options("A")).All(ctx) // which has read nothing
		_, errs["revoke"] = g.Revoke(ctx, given.ID)
		_, errs["list"] = k.Known(ctx, "shop")
		for why, err := range errs {
			lostKey(t, why, err, recordstest.ErrFault)
		}
		w.fails(nil)
		if _, found, err := g.Find(ctx, given.GrantUse); !found || err != nil {
			t.Errorf("afterwards: %v, %v", found, err)
		}
		if _, err := g.Put(ctx, given); err == nil || errors.Is(err, recordstest.ErrFault) {
			t.Errorf("one that is kept is put again: %v", err)
		}
	})
}
