package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Problem names a fault of a record of the audit.
type Problem string

// The problems.
const (
	// Altered: the record does not match its hash or a signed checkpoint.
	Altered Problem = "altered"
	// Missing: another record is in its place, or its file is gone.
	Missing Problem = "missing"
	// Signature: its checkpoint is not signed with the key of this folder.
	Signature Problem = "signature"
	// Truncated: a checkpoint covers records after the last one that is there.
	Truncated Problem = "truncated"
)

// Report holds the results of Verify. Without a data folder it is the zero Report.
type Report struct {
	// Records says how many records are good, and Checkpoints how many checkpoints
	// agree with them, in the chains of all processes.
	Records     int64 `json:"records"`
	Checkpoints int   `json:"checkpoints"`
	// PublicKey verifies checkpoints, in base64. Compare it with a copy that is
	// kept elsewhere.
	PublicKey string `json:"publicKey"`
	// Chains has those of all processes: first those with a fault, then the newest, 1,000 at most.
	// ChainCount says how many there are.
	Chains     []ChainState `json:"chains"`
	ChainCount int          `json:"chainCount"`
	// Bad has the first record of each chain that is not as it was written, and
	// the list of checkpoints when it is not.
	Bad []BadRecord `json:"bad,omitempty"`
	// Unsigned says how many records no checkpoint covers yet: when the last of them
	// are removed, nothing shows it.
	Unsigned int64 `json:"unsigned"`
	// Removed are files that are gone, and older than all files that are there.
	Removed []RemovedFile `json:"removed"`
	// Open are intents without an outcome, the oldest 1,000: calls that run now,
	// or whose process was killed. OpenCount says how many there are.
	Open      []OpenIntent `json:"open"`
	OpenCount int          `json:"openCount"`
	// Lost says how many records could not be kept while writing failed.
	Lost int64 `json:"lost"`
	// Torn says how many lines of processes that ended are cut off: a full disk, or the
	// end in the middle of a write, leaves them.
	Torn int `json:"torn"`
	// Others are files that belong to no chain. They are not verified.
	Others []string `json:"others"`
}

// ChainState is the chain of one process, as it was found.
type ChainState struct {
	Chain string `json:"chain"`
	// Records counts the good ones, and Checkpoint is the time of the newest mark that signs them
	// (RFC 3339), "" where no record is signed.
	Records    int64  `json:"records"`
	Checkpoint string `json:"checkpoint"`
	// Living is true while its process has the folder open.
	Living bool `json:"living"`
	// Bad is true when one of its records is in Report.Bad.
	Bad bool `json:"bad"`
}

// BadRecord names a record and what is wrong with it. Without a Chain it is the
// list of checkpoints.
type BadRecord struct {
	Chain   string  `json:"chain,omitempty"`
	Seq     int64   `json:"record"`
	Problem Problem `json:"problem"`
	Detail  string  `json:"detail"`
}

// RemovedFile is a file of a chain that is gone. Its records ended with Seq, at
// Time (RFC 3339).
type RemovedFile struct {
	Chain string `json:"chain"`
	File  int    `json:"file"`
	Seq   int64  `json:"record"`
	Time  string `json:"time"`
}

// OpenIntent is an intent without an outcome.
type OpenIntent struct {
	Chain  string `json:"chain"`
	Seq    int64  `json:"record"`
	Time   string `json:"time"` // RFC 3339
	Call   string `json:"call"`
	Caller string `json:"caller"`
	Site   string `json:"site"`
	Tool   string `json:"tool"`
}

// verify reads all chains. Processes may write at the same time: a mark is always in its
// file before it is in the list, so the list is read first. tell gets how many records were read, and
// how many the list knows of. kept are marks of the folder that are kept elsewhere.
func verify(ctx context.Context, f archive, me *owner, kept []mark, tell func(read, of int64)) (Report, error) {
	living, err := me.living()
	if err != nil {
		return Report{}, err
	}
	r := Report{PublicKey: f.signer.publicText(),
		Removed: []RemovedFile{}, Open: []OpenIntent{}, Others: []string{}, Chains: []ChainState{}}
	marks, err := f.list()
	switch {
	case errors.Is(err, errList):
		r.Bad = append(r.Bad, BadRecord{Problem: Signature, Detail: err.Error()})
	case err != nil:
		return Report{}, err
	}
	listed := len(r.Bad) == 0
	marks = r.join(f.signer, marks, kept)
	parts, others, err := f.contents()
	if err != nil {
		return Report{}, err
	}
	begun, err := me.living() // also those that began since
	if err != nil {
		return Report{}, err
	}
	ended, err := f.list() // has what those listed that are gone by now
	if err != nil && !errors.Is(err, errList) {
		return Report{}, err
	}
	count := counting(tell, parts, marks)
	r.Others, living = append(r.Others, others...), append(living, begun...)
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		open := map[int64]OpenIntent{}
		s := &scan{signer: f.signer, id: id, each: func(rec *record) {
			r.note(open, id, rec)
			count()
		}}
		for _, m := range marks {
			if m.Chain == id {
				s.listed = append(s.listed, m)
			}
		}
		if err := s.run(ctx, f, parts[id]); err != nil {
			return Report{}, err
		}
		lives := slices.Contains(living, id)
		switch {
		case lives:
			s.torn = 0 // it is being written
		case listed:
			s.mustBeListed(ended)
		}
		r.add(s, open)
		r.Chains = append(r.Chains, ChainState{Chain: id, Records: s.records, Checkpoint: s.signedAt(), Living: lives})
	}
	r.missing(filesOf(marks, kept), parts)
	r.states()
	slices.SortFunc(r.Open, func(a, b OpenIntent) int {
		return cmp.Or(strings.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq))
	})
	r.OpenCount = len(r.Open)
	r.Open = r.Open[:min(len(r.Open), maxListed)]
	return r, nil
}

// counting returns a function that counts a record, and tells of the first and of each thousandth.
func counting(tell func(read, of int64), parts map[string][]int, marks []mark) func() {
	var read, of int64
	newest := map[string]int64{}
	for _, m := range marks {
		if parts[m.Chain] != nil {
			newest[m.Chain] = max(newest[m.Chain], m.Seq)
		}
	}
	for _, seq := range newest {
		of += seq
	}
	return func() {
		if read++; tell != nil && read%1000 == 1 {
			tell(read, max(of, read))
		}
	}
}

// states marks the chains that are not as they were written, and puts the newest first.
func (r *Report) states() {
	for _, b := range r.Bad {
		i := slices.IndexFunc(r.Chains, func(c ChainState) bool { return c.Chain == b.Chain })
		switch {
		case i >= 0:
			r.Chains[i].Bad = true
		case b.Chain != "": // all its files are gone
			r.Chains = append(r.Chains, ChainState{Chain: b.Chain, Bad: true})
		}
	}
	slices.SortFunc(r.Chains, func(a, b ChainState) int {
		if a.Bad != b.Bad {
			if a.Bad {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(b.Checkpoint, a.Checkpoint), strings.Compare(a.Chain, b.Chain))
	})
	r.ChainCount = len(r.Chains)
	r.Chains = r.Chains[:min(len(r.Chains), maxListed)]
}

// signedAt returns the time of the newest mark.
func (s *scan) signedAt() string {
	if s.signed == 0 {
		return ""
	}
	return s.last.Time
}

// mustBeListed checks that the list has the newest mark of a process that ended:
// it was added to the list before the process was gone.
func (s *scan) mustBeListed(marks []mark) {
	has := func(m mark) bool {
		return m.Chain == s.id && m.File == s.last.File && m.Seq >= s.last.Seq
	}
	if s.bad == nil && s.last.Mark != markBegin && s.begun && !slices.ContainsFunc(marks, has) {
		s.fail(s.last.Seq, Truncated,
			"the list of checkpoints lacks its checkpoint: the list is older than the audit")
	}
}

// note joins outcomes to intents.
func (r *Report) note(open map[int64]OpenIntent, id string, rec *record) {
	switch rec.Kind {
	case kindIntent:
		open[rec.Ticket] = OpenIntent{
			Chain: id, Seq: rec.Seq, Time: rec.Time,
			Call: rec.Call, Caller: rec.Caller, Site: rec.Site, Tool: rec.Tool,
		}
	case kindOutcome:
		delete(open, rec.Ticket)
	case kindLost:
		r.Lost += rec.Ticket
	}
}

// add counts what was found in a chain.
func (r *Report) add(s *scan, open map[int64]OpenIntent) {
	r.Records += s.records
	r.Checkpoints += s.checkpoints
	r.Torn += s.torn
	if s.bad != nil {
		r.Bad = append(r.Bad, *s.bad)
	} else {
		r.Unsigned += s.end.seq - s.signed
	}
	r.Open = slices.AppendSeq(r.Open, maps.Values(open))
}

// missing names the files that the list has and that are gone. Those that are
// older than all others can have been removed to save room: a file is as old as
// its newest mark.
func (r *Report) missing(marks []mark, parts map[string][]int) {
	older := true
	for i, m := range marks {
		switch {
		case slices.Contains(parts[m.Chain], m.File):
			older = false
		case older && slices.ContainsFunc(marks[i:],
			func(m mark) bool { return slices.Contains(parts[m.Chain], m.File) }):
			r.Removed = append(r.Removed,
				RemovedFile{Chain: m.Chain, File: m.File, Seq: m.Seq, Time: m.Time})
		case !slices.ContainsFunc(r.Bad, func(b BadRecord) bool { return b.Chain == m.Chain }):
			r.Bad = append(r.Bad, BadRecord{
				Chain: m.Chain, Seq: m.Seq, Problem: Missing,
				Detail: fmt.Sprintf("file %d is gone, and older files are there, or none is",
					m.File),
			})
		}
	}
	r.Removed = r.Removed[max(0, len(r.Removed)-maxListed):]
}
