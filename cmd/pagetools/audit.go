package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

func (p *program) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "What the record of calls says",
		Args:  exactly(0, "verify"),
		RunE:  func(*cobra.Command, []string) error { return usage("audit needs verify; see pagetools audit --help") },
	}
	c.AddCommand(&cobra.Command{
		Use:   "verify",
		Short: "Check that nobody changed the audit in the data folder",
		Args:  exactly(0, "no argument"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.verifyAudit(cmd.Context()) },
	})
	return c
}

// auditReport is what audit verify --format json prints.
type auditReport struct {
	OK          bool       `json:"ok"`
	Records     int64      `json:"records"`
	Checkpoints int        `json:"checkpoints"`
	PublicKey   string     `json:"publicKey"`
	Bad         *badRecord `json:"bad,omitempty"`
	Open        []openCall `json:"open"`
	OpenCount   int        `json:"openCount"`
	Lost        int64      `json:"lost"`
	Waiting     int        `json:"waiting"`
	Damaged     []damaged  `json:"damaged"`
	Torn        int        `json:"torn"`
}

type badRecord struct {
	Record  int64  `json:"record"`
	Problem string `json:"problem"`
	Detail  string `json:"detail"`
}

// openCall is a call whose outcome is not recorded.
type openCall struct {
	Record int64  `json:"record"`
	Time   string `json:"time"`
	Call   string `json:"call"`
	Caller string `json:"caller"`
	Site   string `json:"site"`
	Tool   string `json:"tool"`
}

// damaged is a record which says that others were lost in a journal.
type damaged struct {
	Record int64  `json:"record"`
	Time   string `json:"time"`
	Detail string `json:"detail"`
}

func (p *program) verifyAudit(ctx context.Context) error {
	s, err := p.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer p.closeMemory(s)
	found, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	if p.conf.Format != "text" {
		if err := terminal.Encode(p.stdout, reported(found)); err != nil {
			return err
		}
	} else {
		p.printReport(found)
	}
	if bad := found.Bad; bad != nil {
		return &exitError{exitFindings, fmt.Errorf("record %d of the audit is %s: %s", bad.Seq, bad.Problem, bad.Detail)}
	}
	return nil
}

func reported(r store.Report) auditReport {
	out := auditReport{OK: r.Bad == nil, Records: r.Records, Checkpoints: r.Checkpoints, PublicKey: r.PublicKey, Open: []openCall{},
		OpenCount: r.OpenCount, Lost: r.Lost, Waiting: r.Waiting, Damaged: []damaged{}, Torn: r.Torn}
	if r.Bad != nil {
		out.Bad = &badRecord{r.Bad.Seq, string(r.Bad.Problem), r.Bad.Detail}
	}
	for _, o := range r.Open {
		out.Open = append(out.Open, openCall{o.Seq, o.Time, o.Call, o.Caller, o.Site, o.Tool})
	}
	for _, d := range r.Damaged {
		out.Damaged = append(out.Damaged, damaged{d.Seq, d.Time, d.Detail})
	}
	return out
}

func (p *program) printReport(r store.Report) {
	fmt.Fprintf(p.stdout, "%d records are as they were written; %d checkpoints agree.\nPublic key of the checkpoints: %s\n", r.Records, r.Checkpoints, r.PublicKey)
	if r.OpenCount > 0 {
		fmt.Fprintf(p.stdout, "%d calls have no outcome: they run now, or their process was killed.\n", r.OpenCount)
		for _, o := range r.Open {
			fmt.Fprintf(p.stdout, "  %d  %s  %s  %s on %s for %s\n", o.Seq, o.Time, terminal.Plain(o.Call), terminal.Plain(o.Tool), terminal.Plain(o.Site), terminal.Plain(o.Caller))
		}
	}
	if r.Lost > 0 {
		fmt.Fprintf(p.stdout, "%d records could not be kept while nothing could be written.\n", r.Lost)
	}
	if r.Waiting > 0 {
		fmt.Fprintf(p.stdout, "%d records wait in the journal of a process that was killed: the next start adds them.\n", r.Waiting)
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(p.stdout, "  %d  %s  the journal of a process that was killed is damaged: %s\n", d.Seq, d.Time, terminal.Plain(d.Detail))
	}
	if r.Torn > 0 {
		fmt.Fprintf(p.stdout, "%d lines of the checkpoints cannot be read.\n", r.Torn)
	}
}
