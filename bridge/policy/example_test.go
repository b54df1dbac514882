package policy_test

import (
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// A page can make a call ask for more consent, never for less.
func ExampleDecide() {
	readOnly := policy.Hints{ReadOnly: policy.Yes}
	for _, in := range []policy.Input{
		{Tool: "list", Hints: readOnly, Own: true, TopLevel: true},
		{Tool: "list", Hints: readOnly, Own: true}, // of a frame: its claim does not count
		{Tool: "buy", Own: true, TopLevel: true},
	} {
		fmt.Println(policy.Decide(in).Level)
	}
	// Output:
	// auto
	// ask
	// ask
}

// A caller that floods a shared rate uses up its own part.
func ExampleRates() {
	r := policy.NewRates(policy.RatesOptions{Sites: map[string]policy.SiteRates{"shop": {Rate: policy.Rate{N: 4, Per: time.Minute}}}})
	now := time.Unix(0, 0)
	for range 5 {
		limit, _ := r.Take("flood", "shop", "search", now)
		fmt.Printf("%q ", limit)
	}
	limit, _ := r.Take("other", "shop", "search", now)
	fmt.Printf("%q\n", limit)
	// Output: "" "" "" "" "site" ""
}
