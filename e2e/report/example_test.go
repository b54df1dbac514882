package report_test

import (
	"fmt"
	"os"
	"time"

	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/report"
)

func Example() {
	formats, err := report.Parse("--reporter", "list")
	if err != nil {
		fmt.Println(err)
		return
	}
	run := &report.Run{
		Command: "check", Took: 20 * time.Millisecond,
		Sites: []report.Site{{Target: "./public", Tools: 1}},
		Findings: []check.Finding{{
			Rule: "tool-name-valid", Severity: check.Error, Message: `The name "add stamp" has a space: use add-stamp.`,
			Where: check.Where{Target: "./public", Tool: "add stamp", Pointer: "/name"},
		}},
	}
	if err := report.New(formats, report.Options{Out: os.Stdout}).Done(run); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ./public
	//   add stamp
	//     error   tool-name-valid: The name "add stamp" has a space: use add-stamp.
	//             /name
	//
	// 1 error, 0 warnings, 0 info; 1 tool of 1 site; 20 ms
}
