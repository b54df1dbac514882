package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport/console"
)

func auditCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Read and check the signed record of calls",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return terminal.Usage("audit needs list or verify; see pagetools audit --help")
		},
		SuggestionsMinimumDistance: 2,
	}
	var f bridge.CallFilter
	list := &cobra.Command{
		Use:   "list",
		Short: "List the newest records of the audit of all processes, the newest last",
		Args:  exactly(0, "no argument"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listAudit(cmd.Context(), p, f) },
	}
	filterFlags(list, &f)
	c.AddCommand(list)
	servers := ""
	check := &cobra.Command{
		Use:   "verify",
		Short: "Check that nobody changed the audit in the data folder, or those of the nodes of a cluster",
		Long: "Checks that the audit in the data folder is as it was written. With --cluster, each node checks its own, also against\n" +
			"the checkpoints that it gave the others to keep: a folder that was put back as it was is found, too.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if servers != "" {
				return verifyAudits(cmd.Context(), p, servers)
			}
			return verifyAudit(cmd.Context(), p)
		},
	}
	clusterFlag(check, &servers)
	c.AddCommand(check)
	return c
}

// auditReport has the JSON of audit verify.
type auditReport struct {
	OK bool `json:"ok"`
	store.Report
}

// auditOf returns what the operators' page reads of the audit; nil where there is none.
func auditOf(kept *store.Store) *console.Audit {
	if kept == nil || kept.Audit == nil {
		return nil
	}
	return &console.Audit{
		Healthy: kept.Audit.Healthy,
		Verify: func(ctx context.Context, tell func(read, of int64)) (any, error) {
			found, err := kept.VerifyTelling(ctx, tell)
			return auditReport{len(found.Bad) == 0, found}, err
		},
		Of: func(ctx context.Context, call string) (any, error) {
			all, err := kept.RecordsOf(ctx, call)
			return slices.Concat([]store.Entry{}, all), err
		},
	}
}

func listAudit(ctx context.Context, p *program, f bridge.CallFilter) error {
	s, err := p.openRecords(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	all, err := s.Records(ctx, f)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		p.say("no record matches")
	}
	for _, e := range slices.Backward(all) {
		if p.conf.Format != "text" {
			err = terminal.Encode(p.stdout, e)
		} else {
			by := ""
			if e.Persons != "" {
				by = "  by " + e.Persons
			}
			_, err = fmt.Fprintf(p.stdout, "%s  %s/%d  %-7s  %-7s  %s on %s for %s  %s\n", when(e.Time),
				e.Chain[:min(8, len(e.Chain))], e.Seq, e.Kind, cmp.Or(e.Outcome, e.Decision),
				text.Line(e.Tool), text.Line(e.Site), text.Line(e.Caller),
				text.Line(e.Call+"  "+e.Code+" "+e.Reason+by))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// when is the time of a record as the log has it.
func when(words string) string {
	at, err := time.Parse(time.RFC3339, words)
	if err != nil {
		return text.Line(words)
	}
	return clock(at)
}

func verifyAudit(ctx context.Context, p *program) error {
	s, err := p.openRecords(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	found, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	if p.conf.Format != "text" {
		if err := terminal.Encode(p.stdout, auditReport{len(found.Bad) == 0, found}); err != nil {
			return err
		}
	} else {
		printReport(p.stdout, found)
	}
	if len(found.Bad) > 0 {
		return terminal.Found("%s", badLine(found.Bad[0]))
	}
	return nil
}

// badLine says what is wrong with one record.
func badLine(b store.BadRecord) string {
	if b.Chain == "" {
		return b.Detail
	}
	return fmt.Sprintf("record %d of the audit is %s: %s (in %s)", b.Seq, b.Problem, b.Detail,
		b.Chain)
}

func printReport(w io.Writer, r store.Report) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	say("%d records are as they were written; %d checkpoints agree.", r.Records, r.Checkpoints)
	say("Public key of the checkpoints: %s", r.PublicKey)
	for _, b := range r.Bad {
		say("  %s", badLine(b))
	}
	if r.OpenCount > 0 {
		say("%d calls have no outcome: they run now, or their process was killed.", r.OpenCount)
		for _, o := range r.Open {
			say("  %s/%d  %s  %s  %s on %s for %s", o.Chain, o.Seq, o.Time, text.Line(o.Call),
				text.Line(o.Tool), text.Line(o.Site), text.Line(o.Caller))
		}
	}
	if r.Unsigned > 0 {
		say("%d records are newer than the last checkpoint of their process. "+
			"Removing the last of them leaves no trace.", r.Unsigned)
	}
	if n := len(r.Removed); n > 0 {
		say("%d old files were removed. The newest record in them is of %s.", n,
			r.Removed[n-1].Time)
	}
	if r.Lost > 0 {
		say("%d records could not be kept while nothing could be written.", r.Lost)
	}
	if r.Torn > 0 {
		say("%d lines are cut off, as a full disk or a killed process leaves them.", r.Torn)
	}
	for _, name := range r.Others {
		say("%s is not part of the audit in this form, and was not verified.", text.Line(name))
	}
}
