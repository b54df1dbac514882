// Package trace writes what happened in one case of a test as a trace that Playwright's viewer
// shows (npx playwright show-trace trace.zip): the steps with their arguments and results, pictures
// and a film strip of the page, its console and its network, and the file of the scenario.
//
//	err := trace.Write(file, &trace.Trace{Title: "adds a stamp", Began: began, Actions: actions})
//
// The format is version 8 of Playwright's, which its viewers show since 1.53. Its types are in
// packages/isomorphic/trace/versions/traceV8.ts of github.com/microsoft/playwright, and what reads
// them in traceLoader.ts, traceModernizer.ts and snapshotRenderer.ts beside that folder.
//
// Texts of pages are shown with their invisible characters visible, and a trace has at most 40 MiB,
// whatever a page does: what is over is left out, pictures first.
package trace

import (
	"net/http"
	"time"
)

// Trace records what happened in one case. Write reads it, and changes nothing.
type Trace struct {
	// Title is shown at the top, and URL as the address of pictures.
	Title, URL string
	// Began says when the case began. What is said to have been earlier is shown at that time.
	Began    time.Time
	Actions  []*Action
	Frames   []Frame // of the film strip
	Messages []Message
	Requests []Request
	// Sources are the texts of files by the names that actions have for them.
	Sources map[string]string
}

// Action is a step, or a part of one.
type Action struct {
	// Title names it, such as "call add-stamp".
	Title        string
	Began, Ended time.Time
	// Params and Result are shown as texts.
	Params, Result []Param
	// Error says why it failed; "" is success.
	Error string
	// Log are lines about it.
	Log []string
	// File and Line say where it is written. File is a key of Sources; "" is nowhere.
	File string
	Line int
	// Before and After are pictures of the page; nil is none.
	Before, After *Picture
	Children      []*Action
}

// Param is a named text.
type Param struct{ Name, Text string }

// Picture is one of the page, in PNG or JPEG.
type Picture struct {
	At   time.Time
	Data []byte
}

// Frame is one picture of the film strip: a JPEG, and the size of the page in pixels.
type Frame struct {
	At            time.Time
	JPEG          []byte
	Width, Height int
}

// Message is one of the page's console, or an exception that nobody caught.
type Message struct {
	At time.Time
	// Level is log, info, warning, error or debug.
	Level, Text string
	Uncaught    bool
	// URL and Line say where; "" and 0 are unknown. Lines count from 1.
	URL  string
	Line int
}

// Request is one that the page sent, without bodies.
type Request struct {
	At          time.Time
	Took        time.Duration
	Method, URL string
	// Status is zero without a response; Failed says why there is none.
	Status     int
	StatusText string
	Failed     string
	// Protocol is such as "h2", MIMEType that of the response, and Size its bytes on the wire.
	Protocol, MIMEType string
	Size               int64
	// Write leaves out headers that hold logins.
	RequestHeaders, ResponseHeaders http.Header
}
