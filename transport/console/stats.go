package console

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const (
	keptSeconds = 900 // of which there are samples, and
	keptMinutes = keptSeconds / 60
	maxTook     = 256 // lengths of calls of one second from which p50 and p95 are made
)

// sampleJSON counts the calls that ended in one second. P50 and P95 tell how long they took, in
// milliseconds; Questions and Running count what was open at the last change in that second, Held, Spare
// and Queued the pages as its first call changed. PSS has the bytes of the browsers as they were weighed last, while
// somebody watches; 0 is not known.
type sampleJSON struct {
	At        time.Time `json:"at"`
	OK        int       `json:"ok"`
	Refused   int       `json:"refused"`
	Error     int       `json:"error"`
	P50       int64     `json:"p50"`
	P95       int64     `json:"p95"`
	Questions int       `json:"questions"`
	Running   int       `json:"running"`
	Held      int       `json:"held"`
	Spare     int       `json:"spare"`
	Queued    int       `json:"queued"`
	PSS       uint64    `json:"pss"`
}

// minuteJSON counts the calls of a site that ended in one minute; Errors counts those of status error.
type minuteJSON struct {
	At     time.Time `json:"at"`
	Calls  int       `json:"calls"`
	Errors int       `json:"errors"`
}

// statsJSON tells what a process did in the last 15 minutes. Seconds and minutes without calls are left
// out; the oldest comes first.
type statsJSON struct {
	Node    string                  `json:"node"`
	Samples []sampleJSON            `json:"samples"`
	Sites   map[string][]minuteJSON `json:"sites"`
}

// stats counts calls as Records take them. The lock of Records guards it.
type stats struct {
	known              func(site string) bool // of whose calls minutes are kept
	pages              Pages                  // nil has none
	pss                uint64
	samples            []sampleJSON
	took               []int64 // of the last sample, in milliseconds
	sites              map[string][]minuteJSON
	questions, running int
	changes            int64
}

// count takes what a call was and is; nil is nothing.
func (st *stats) count(was, is *callJSON) {
	questions, running := st.questions, st.running
	st.add(was, -1)
	st.add(is, 1)
	ended := is != nil && is.Status != statusRunning && (was == nil || was.Status == statusRunning)
	if is == nil || !ended && st.questions == questions && st.running == running {
		return
	}
	st.changes++
	s := st.sample(is.At)
	s.Questions, s.Running = st.questions, st.running
	if !ended {
		return
	}
	switch is.Status {
	case statusOK:
		s.OK++
	case statusRefused:
		s.Refused++
	default:
		s.Error++
	}
	if len(st.took) < maxTook {
		st.took = append(st.took, is.took(is.At).Milliseconds())
	}
	st.ofSite(is)
}

// add counts what is open.
func (st *stats) add(c *callJSON, n int) {
	if c != nil && c.Status == statusRunning {
		st.running += n
		if c.Stage == bridge.StageAsked {
			st.questions += n
		}
	}
}

// sample returns that of a second, or of the last one that there is.
func (st *stats) sample(at time.Time) *sampleJSON {
	at = at.Truncate(time.Second)
	if last := len(st.samples) - 1; last >= 0 && !at.After(st.samples[last].At) {
		return &st.samples[last]
	}
	st.summarize()
	st.took = st.took[:0]
	next := sampleJSON{At: at, Questions: st.questions, Running: st.running, PSS: st.pss}
	if st.pages != nil {
		p := st.pages.Pool()
		next.Held, next.Spare, next.Queued = p.Held, p.Spare, p.Queued
	}
	st.samples = append(st.samples, next)
	old := at.Add(-keptSeconds * time.Second)
	st.samples = slices.DeleteFunc(st.samples, func(s sampleJSON) bool { return !s.At.After(old) })
	return &st.samples[len(st.samples)-1]
}

// summarize computes p50 and p95 of the last sample.
func (st *stats) summarize() {
	if len(st.took) == 0 {
		return
	}
	all := slices.Sorted(slices.Values(st.took))
	last := &st.samples[len(st.samples)-1]
	last.P50, last.P95 = all[(len(all)-1)*50/100], all[(len(all)-1)*95/100]
}

// ofSite counts a call that ended. Names that callers made up are no sites.
func (st *stats) ofSite(c *callJSON) {
	if _, kept := st.sites[c.Site]; !kept && (st.known == nil || !st.known(c.Site)) {
		return
	}
	if st.sites == nil {
		st.sites = map[string][]minuteJSON{}
	}
	all, at := st.sites[c.Site], c.At.Truncate(time.Minute)
	if len(all) == 0 || at.After(all[len(all)-1].At) {
		old := at.Add(-keptMinutes * time.Minute)
		all = append(slices.DeleteFunc(all, func(m minuteJSON) bool { return !m.At.After(old) }), minuteJSON{At: at})
	}
	last := &all[len(all)-1]
	last.Calls++
	if c.Status == statusError {
		last.Errors++
	}
	st.sites[c.Site] = all
}

// statsOf returns the last 15 minutes, of at most so many of the newest seconds and minutes, and a number
// that grows with each change.
func (rs *Records) statsOf(node string, now time.Time, seconds, minutes int) (statsJSON, int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.stats.summarize()
	out := statsJSON{node, []sampleJSON{}, map[string][]minuteJSON{}}
	for _, s := range rs.stats.samples[max(0, len(rs.stats.samples)-seconds):] {
		if now.Sub(s.At) < keptSeconds*time.Second {
			out.Samples = append(out.Samples, s)
		}
	}
	for site, all := range rs.stats.sites {
		for _, m := range all[max(0, len(all)-minutes):] {
			if now.Sub(m.At) < keptMinutes*time.Minute {
				out.Sites[site] = append(out.Sites[site], m)
			}
		}
	}
	return out, rs.stats.changes
}

// listStats is GET /api/stats: what each process did in the last 15 minutes. A caller of some sites gets
// the minutes of these, and no samples, which are of all.
func (x callsFace) listStats(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	f := x.Face
	own, _ := f.records.statsOf(f.node, time.Now(), keptSeconds, keptMinutes)
	if c.Sites != nil {
		own.Samples = []sampleJSON{}
		maps.DeleteFunc(own.Sites, func(site string, _ []minuteJSON) bool { return !c.Sees(site) })
	}
	all := []statsJSON{own}
	var late []string
	if f.mayLookElsewhere(c) {
		late = eachPeer(r.Context(), f.peers(), "/api/stats?limit="+strconv.Itoa(maxLimit), func(_ string, resp *http.Response) {
			var theirs listJSON[statsJSON]
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				all = append(all, theirs.Items...)
			}
		})
	}
	page(w, r, all, func(s statsJSON) string { return s.Node }, late...)
}

// of sets the pages that the samples count.
func (rs *Records) of(pages Pages) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.stats.pages = pages
}

// lookAtPages begins a sample where the pages are others than in the last one, or their browsers weigh
// something else.
func (rs *Records) lookAtPages(at time.Time, pss uint64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	st := &rs.stats
	if st.pages == nil {
		return
	}
	var was sampleJSON
	if last := len(st.samples) - 1; last >= 0 {
		was = st.samples[last]
	}
	p := st.pages.Pool()
	if st.pss = cmp.Or(pss, st.pss); p.Held != was.Held || p.Spare != was.Spare || p.Queued != was.Queued || st.pss != was.PSS {
		s := st.sample(at)
		s.Held, s.Spare, s.Queued, s.PSS = p.Held, p.Spare, p.Queued, st.pss
		st.changes++
	}
}

// statsEvery sets how often the stream tells what changed, weighEvery how often browsers are weighed for
// that: it costs them and us something.
const statsEvery, weighEvery = time.Second, 15 * time.Second

// tellStats tells the newest second, and the two newest minutes of each site, when they changed.
func (o *ownNode) tellStats(ctx context.Context, at time.Time, before int64) int64 {
	var pss uint64
	if o.face.pages != nil && at.Sub(o.weighed) >= weighEvery {
		o.weighed = at
		for _, b := range o.face.pages.BrowserStates(true) {
			pss += b.Memory
		}
	}
	o.face.records.lookAtPages(at, pss)
	now, changes := o.face.records.statsOf(o.face.node, at, 1, 2)
	if changes != before {
		o.note(ctx, o.face.node, event{name: evStats, data: mustJSON(now)}, "", "", nil)
	}
	return changes
}
