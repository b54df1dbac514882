package run

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/har"
	"github.com/pagetools/pagetools/e2e/har/tape"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// recording is the network of a file's site as a HAR file has it, or shall have it.
type recording struct {
	tape *tape.Tape
	name string // as the file names it
	path string

	tracking sync.Mutex
	served   string                 // the origin of the folder that is served; "" is none
	tracks   map[string]*tape.Track // by the caller whose page it is
}

// replays reports whether the recording stands in for the network.
func (r *recording) replays() bool { return r != nil && !r.tape.Records() }

// load reads the recording that is replayed, or begins one.
func (on *Stand) load(n *scenario.Network) error {
	if n == nil {
		return nil
	}
	r := &recording{name: n.Record + n.Replay, tracks: map[string]*tape.Track{}}
	r.path = beside(on.file, r.name)
	on.network = r
	if n.Record != "" {
		r.tape = tape.Record()
		return nil
	}
	info, err := os.Stat(r.path)
	if err == nil && info.Size() > har.MaxFile {
		err = fmt.Errorf("it has more than %d bytes", har.MaxFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(r.path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return on.problem(n.Position, "the recording %s is not there, beside this file: record it, with "+
			"network: {record: %s}", scenario.Quoted(r.name), r.name)
	}
	if err != nil {
		return on.problem(n.Position, "the recording %s cannot be read: %s", scenario.Quoted(r.name), err)
	}
	f, err := har.Read(text)
	if err != nil {
		return on.problem(n.Position, "%s: %s", scenario.Quoted(r.name), err.Error())
	}
	r.tape = tape.Play(f)
	return nil
}

// between returns what stands between the pages of the site and the network.
func (on *Stand) between(t *app.Target) func(caller string) session.Network {
	r := on.network
	if r == nil {
		return nil
	}
	return func(caller string) session.Network {
		r.tracking.Lock()
		defer r.tracking.Unlock()
		if t.Folder != "" {
			r.served = t.Origin
		}
		if track := r.tracks[caller]; track != nil {
			return track
		}
		return r.tape.Track("", r.served)
	}
}

// takesTrack gives the attempt's page a part of the recording of its own.
func (t *attempt) takesTrack() {
	r := t.on.network
	if r == nil {
		return
	}
	r.tracking.Lock()
	defer r.tracking.Unlock()
	t.track = r.tape.Track(t.c.Name, r.served)
	t.track.Hide = func(words string) string { return t.secrets.concealer().In(words) }
	r.tracks[t.ref.Caller.Name] = t.track
}

// leavesTrack keeps what was recorded.
func (t *attempt) leavesTrack() {
	if t.track == nil {
		return
	}
	t.on.network.tape.Keep(t.track, string(t.door))
	t.on.network.tracking.Lock()
	defer t.on.network.tracking.Unlock()
	delete(t.on.network.tracks, t.ref.Caller.Name)
}

// lacking is the failure of an attempt for which the recording lacks requests, else f.
func (t *attempt) lacking(f *report.Failure) *report.Failure {
	if t.track == nil {
		return f
	}
	lacks := t.track.Lacks()
	if len(lacks) == 0 {
		return f
	}
	why := text.EscapeLine(tape.Lacking(t.on.network.name, lacks))
	if f == nil {
		return &report.Failure{Step: "network", Line: t.on.file.Site.Network.Line, Message: why}
	}
	f.Message = why + "; " + f.Message
	return f
}

// unplayed explains why a site did not open, where its recording lacks requests.
func (on *Stand) unplayed(err error) error {
	if !on.network.replays() {
		return err
	}
	if lacks := on.network.tape.Lacks(); len(lacks) > 0 {
		return errors.New(text.EscapeLine(tape.Lacking(on.network.name, lacks)))
	}
	return err
}

// recorded hands over the recording that was made.
func (on *Stand) recorded(selected []scenario.Selected) error {
	if on.network == nil || on.network.replays() {
		return nil
	}
	ran := map[*scenario.Case]bool{}
	for i := range selected {
		ran[selected[i].Case] = true
	}
	if missing := len(on.file.Cases) - len(ran); missing > 0 {
		on.runner.note("%s was not written: %d of the cases of %s did not run.", on.network.name,
			missing, on.file.Name)
		return nil
	}
	if slices.ContainsFunc(on.runner.run.Cases, func(c report.Case) bool {
		return c.File == on.file.Name && c.Status == report.Failed
	}) {
		on.runner.note("%s was not written: cases of %s failed.", on.network.name, on.file.Name)
		return nil
	}
	if why := on.network.tape.Full(); why != "" {
		return on.problem(on.file.Site.Network.Position, "%s was not written: %s: record fewer cases in "+
			"one file", scenario.Quoted(on.network.name), why)
	}
	var titles []string
	for _, c := range on.file.Cases {
		titles = append(titles, c.Name)
	}
	text, err := on.network.tape.File(on.runner.o.Version, titles).Text()
	if err != nil {
		return err
	}
	if err := on.runner.o.Recorded(on.network.path, text); err != nil {
		return err
	}
	on.runner.note("%s was recorded. To test without the backend, write replay in the place of record.",
		strings.ReplaceAll(on.network.name, "\n", " "))
	return nil
}
