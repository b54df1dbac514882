package pageconfig_test

import (
	"fmt"

	"github.com/pagetools/pagetools/session/pageconfig"
)

// What a call says of its page is parsed, and checked once against the site.
func ExampleParse() {
	r, err := pageconfig.Parse(`{"locale":"de-DE","path":"/cart"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	address, err := r.Address("https://shop.example/start")
	fmt.Println(address, err)
	config, err := r.Check("https://shop.example")
	fmt.Println(config.Locale, err)
	// Output:
	// https://shop.example/cart <nil>
	// de-DE <nil>
}
