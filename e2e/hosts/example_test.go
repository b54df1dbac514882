package hosts_test

import (
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/hosts"
)

func ExampleMatrix() {
	set, err := hosts.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	chrome, err := set.Get("chrome")
	if err != nil {
		fmt.Println(err)
		return
	}
	tools := []check.Tool{
		{Name: "add-stamp", Description: "Adds a stamp."},
		{Name: "remove-stamp", Description: "Removes it.", Annotations: json.RawMessage(`{"destructiveHint":true}`)},
		{Name: "list stamps", Description: "Lists all stamps."},
	}
	page := check.Page{URL: "https://stamps.example/", Tools: tools}
	table := hosts.Matrix(page.Tools, hosts.Facts(page), []hosts.Host{chrome})
	for _, cell := range table.Rows[0].Cells {
		fmt.Println(cell.Tool, cell.State)
	}
	fmt.Println(len(table.Findings()), table.Findings()[0].Rule)
	// Output:
	// add-stamp kept
	// remove-stamp changed
	// list stamps dropped
	// 1 host-off
}
