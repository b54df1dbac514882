package check_test

import (
	"fmt"

	"github.com/pagetools/pagetools/e2e/check"
)

// A list of tools is judged without a browser. A setting changes one rule.
func ExampleJudge() {
	list := `{"tools": [{"name": "delete item", "title": "Delete", "description": "Takes an item out of the cart."}]}`
	snapshot, err := check.FromFile([]byte(list))
	if err != nil {
		fmt.Println(err)
		return
	}
	findings, err := check.Judge(snapshot, check.Options{Rules: map[string]check.Setting{
		"consequential-missing": {Severity: check.Off},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range findings {
		fmt.Println(f.Severity, f.Rule, f.Where.Pointer)
		fmt.Println(f.Fix)
	}
	// Output:
	// error tool-name-valid /name
	// {"name":"delete_item","title":"Delete","description":"Takes an item out of the cart."}
}

// Known findings do not count.
func ExampleBaseline_Apply() {
	was := []check.Finding{{Rule: "slow", Where: check.Where{Page: "http://localhost:8080/", Tool: "search"}}}
	baseline := check.NewBaseline(was)
	now := append(was, check.Finding{Rule: "churn", Where: check.Where{Page: "http://localhost:9090/", Tool: "search"}})
	fresh, known, gone := baseline.Apply(now)
	fmt.Println(len(fresh), len(known), len(gone), fresh[0].Rule)
	// Output: 1 1 0 churn
}
