package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxLine is longer than any line of a chain.
const maxLine = 1 << 18

// scan reads the files of one chain, and checks every line as it does.
type scan struct {
	signer *signer
	id     string
	listed []mark        // what the list says of the chain, and who else keeps marks
	each   func(*record) // called for every good record

	end         chain
	begun       bool  // a first mark said where the chain stands
	signed      int64 // number of the newest record that a mark covers
	last        mark  // the newest mark
	records     int64
	checkpoints int
	torn        int
	bad         *BadRecord
}

// run reads the files with these numbers, which are sorted. The error is about
// reading; what is wrong with the chain is in s.bad.
func (s *scan) run(ctx context.Context, f archive, numbers []int) error {
	for _, number := range numbers {
		if s.bad == nil && s.begun && number != s.last.File+1 {
			s.fail(s.end.seq+1, Missing, "file %d is missing, and file %d is there", s.last.File+1,
				number)
		}
		if s.bad != nil {
			return nil
		}
		if err := s.file(ctx, f, number); err != nil {
			return err
		}
	}
	for s.bad == nil && s.last.Mark == markNext { // begun since the folder was listed
		number := s.last.File + 1
		if err := s.file(ctx, f, number); err != nil {
			return err
		}
		if s.bad == nil && s.last.File != number {
			s.fail(s.end.seq+1, Missing, "file %d is missing, and the one before names it", number)
		}
	}
	for _, m := range s.listed {
		if s.bad == nil && m.Seq > s.end.seq {
			s.fail(s.end.seq+1, Truncated,
				"a checkpoint of %s says that there were at least %d records", m.Time, m.Seq)
		}
	}
	return nil
}

func (s *scan) file(ctx context.Context, f archive, number int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	file, err := f.root.Open(partName(s.id, number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an empty one, removed since the folder was listed
	}
	if err != nil {
		return fmt.Errorf("reading the audit: %w", classify(err))
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, maxLine)
	for first := true; s.bad == nil; first = false {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			if len(line) > 0 { // being written, or cut by the end of the process
				s.torn++
			}
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			s.fail(s.end.seq+1, Altered, "its line is too long")
		case err != nil:
			return fmt.Errorf("reading the audit: %w", classify(err))
		default:
			s.line(bytes.TrimSuffix(line, []byte("\n")), number, first)
		}
	}
	return nil
}

func (s *scan) fail(seq int64, p Problem, format string, args ...any) {
	s.bad = &BadRecord{Chain: s.id, Seq: seq, Problem: p, Detail: fmt.Sprintf(format, args...)}
}

func (s *scan) line(line []byte, number int, first bool) {
	isMark := bytes.HasPrefix(line, []byte(markOpens))
	switch {
	case !first && (s.last.Mark == markNext || s.last.Mark == markEnd):
		s.fail(s.end.seq+1, Altered, "it follows the last line of file %d", number)
	case isMark:
		s.mark(line, number, first)
	case first:
		s.fail(s.end.seq+1, Altered, "file %d does not begin with a checkpoint", number)
	default:
		s.record(line)
	}
}

// mark checks a mark against where the chain stands. The first one may stand
// anywhere: the files before it can be gone.
func (s *scan) mark(line []byte, number int, first bool) {
	var m mark
	if err := decodeExactly(line, &m); err != nil {
		s.fail(s.end.seq+1, Altered, "a checkpoint before it cannot be read")
		return
	}
	if !s.signer.own(m) {
		s.fail(m.Seq, Signature, "its checkpoint is not signed with the key of this folder")
		return
	}
	hash, err := hex.DecodeString(m.Hash)
	at := chain{seq: m.Seq}
	copy(at.hash[:], hash)
	switch {
	case err != nil || m.Chain != s.id || m.File != number || first != (m.Mark == markBegin):
		s.fail(s.end.seq+1, Altered, "the checkpoint before it belongs elsewhere")
		return
	case !s.begun:
		s.end, s.begun = at, true
	case at != s.end && m.Seq > s.end.seq:
		s.fail(s.end.seq+1, Missing, "the next checkpoint is of record %d", m.Seq)
		return
	case at != s.end:
		s.fail(m.Seq, Altered,
			"a checkpoint of %s signed another record: it, or one before it, was rewritten", m.Time)
		return
	}
	if m.Mark != markBegin {
		s.checkpoints++
	}
	s.last, s.signed = m, max(s.signed, m.Seq)
}

func (s *scan) record(line []byte) {
	body, hash, err := unseal(line)
	var r *record
	if err == nil {
		r, err = decodeRecord(body)
	}
	want := s.end.seq + 1
	if err != nil {
		s.fail(want, Altered, "it cannot be read")
		return
	}
	link := s.end.link(body)
	switch {
	case r.Seq != want:
		s.fail(want, Missing, "record %d is in its place", r.Seq)
		return
	case hex.EncodeToString(link[:]) != hash:
		s.fail(want, Altered, "it does not have its hash")
		return
	}
	s.end = chain{seq: want, hash: link}
	for _, m := range s.listed {
		switch {
		case m.Seq != want:
		case m.Hash != hash:
			s.fail(want, Altered,
				"a checkpoint of %s signed another one: it, or one before it, was rewritten", m.Time)
			return
		default:
			s.signed = want
		}
	}
	s.records++
	if s.each != nil {
		s.each(r)
	}
}
