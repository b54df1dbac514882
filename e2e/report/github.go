package report

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// commands maps severities to the commands of GitHub's workflows that make annotations.
var commands = map[check.Severity]string{
	check.Error: "error", check.Warning: "warning", check.Info: "notice",
}

// writeGitHub writes one command for each finding and each failed case. Each is one line.
func writeGitHub(run *Run) ([]byte, error) {
	var b bytes.Buffer
	for _, f := range run.Findings {
		command := commands[f.Severity]
		if command == "" {
			continue
		}
		text := f.Message
		if f.Where.Pointer != "" {
			text += " At " + f.Where.Pointer + "."
		}
		if f.Where.Tool != "" {
			text = f.Where.Tool + ": " + text
		}
		text += " (" + page(f.Where) + ")"
		file, row, column := "", 0, 0
		if s := f.Where.Script; s != nil {
			if path, ok := localFile(s.URL); ok {
				file, row, column = path, s.Line, s.Column
			} else {
				text += " " + position(s)
			}
		}
		annotate(&b, command, file, row, column, f.Rule, text)
	}
	for _, f := range run.failures() {
		message, details := worded(f.explain())
		first := f.ways[0]
		annotate(&b, "error", first.File, first.line(), 0, f.label(), strings.TrimSpace(message+"\n"+details))
	}
	if run.Interrupted {
		annotate(&b, "error", "", 0, 0, "pagetools", "The run was interrupted: the rest was not run.")
	}
	return b.Bytes(), nil
}

func annotate(b *bytes.Buffer, command, file string, row, column int, title, words string) {
	var properties []string
	add := func(key, value string) {
		properties = append(properties, key+"="+propertyEscapes.Replace(text.EscapeLine(value)))
	}
	if file != "" {
		add("file", file)
		if row > 0 {
			add("line", strconv.Itoa(row))
		}
		if column > 0 {
			add("col", strconv.Itoa(column))
		}
	}
	add("title", title)
	b.WriteString("::" + command + " " + strings.Join(properties, ",") + "::" +
		dataEscapes.Replace(lines(words)) + "\n")
}

// What GitHub takes for an end of a command, of a property or of a line.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
