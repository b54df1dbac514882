package app

import (
	"fmt"
	"os"
	"strconv"

	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// The reasons for which Start finds no browser, and ErrRoot, with which none may be started.
var (
	ErrNoBrowser = chrome.ErrNoBrowser
	ErrNoShell   = chrome.ErrNoShell
	ErrRoot      = chrome.ErrRoot
)

// HowToInstall says how a browser is installed on a system, by its GOOS.
func HowToInstall(goos string) string { return chrome.HowToInstall(goos, false) }

// LocalBrowser is the browser that the environment asks for, in the variables of the command:
// PAGETOOLS_EXECUTABLE_PATH, PAGETOOLS_BROWSER, PAGETOOLS_HEADLESS and PAGETOOLS_NO_SANDBOX. The
// error names one whose value is wrong.
func LocalBrowser() (o cdp.LocalOptions, err error) {
	o.Path, o.Kind = os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), chrome.Kind(os.Getenv("PAGETOOLS_BROWSER"))
	if o.Kind != "" && o.Kind != chrome.Auto && o.Kind != chrome.Shell && o.Kind != chrome.Chromium {
		return o, fmt.Errorf("invalid value %q for PAGETOOLS_BROWSER: must be auto, shell or chromium",
			o.Kind)
	}
	o.NoSandbox, err = boolOf("PAGETOOLS_NO_SANDBOX", false)
	if err != nil {
		return o, err
	}
	headless, err := boolOf("PAGETOOLS_HEADLESS", true)
	o.Headful = !headless
	return o, err
}

func boolOf(name string, otherwise bool) (bool, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("invalid value %q for %s: must be true or false", text, name)
	}
	return value, nil
}
