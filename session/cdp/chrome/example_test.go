package chrome_test

import (
	"context"
	"fmt"

	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// A browser is found, started and ended, with a profile folder that goes with it. It needs
// a browser, so it is compiled and not run.
func ExampleLauncher() {
	launcher, err := chrome.NewLauncher(chrome.Options{Width: 1280, Height: 800})
	if err != nil {
		fmt.Println(err)
		return
	}
	process, err := launcher.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(process.PID())
	process.Stop(context.Background())
	<-process.Done()
}
