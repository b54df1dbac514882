package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// writeTAP writes TAP 14: a test point for each of the run's points, with a block of YAML whose
// values are strings of JSON, which YAML takes.
func writeTAP(run *Run) ([]byte, error) {
	all := run.points()
	var b bytes.Buffer
	b.WriteString("TAP version 14\n")
	if len(all) == 0 {
		b.WriteString("1..0 # SKIP nothing was run\n")
		return b.Bytes(), nil
	}
	fmt.Fprintf(&b, "1..%d\n", len(all))
	for i, p := range all {
		result, directive := "ok", ""
		if p.severity != "" {
			result = "not ok"
		}
		if p.skipped != "" {
			directive = " # SKIP " + tapText(p.skipped)
		}
		fmt.Fprintf(&b, "%s %d - %s%s\n", result, i+1, tapText(p.suite+": "+p.name), directive)
		tapBlock(&b, p)
	}
	for _, note := range run.Notes {
		fmt.Fprintf(&b, "# %s\n", tapText(note))
	}
	fmt.Fprintf(&b, "# %s\n", run.summary())
	return b.Bytes(), nil
}

func tapBlock(b *bytes.Buffer, p point) {
	values := [][2]string{{"message", p.message}, {"severity", p.severity}, {"details", p.details}}
	if p.took > 0 {
		values = append(values, [2]string{"duration_ms", fmt.Sprint(p.took.Milliseconds())})
	}
	var text strings.Builder
	for _, v := range values {
		if v[1] != "" {
			fmt.Fprintf(&text, "  %s: %s\n", v[0], jsonText(string(schema.MustEncode(v[1]))))
		}
	}
	if text.Len() > 0 {
		fmt.Fprintf(b, "  ---\n%s  ...\n", text.String())
	}
}

// tapText returns one line in which # is not a directive.
func tapText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(text.EscapeLine(s))
}
