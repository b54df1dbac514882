package trace

import "github.com/pagetools/pagetools/e2e/har"

// The events of the format, with the members that we write, in the order of traceV8.ts.

type contextOptions struct {
	Version       int      `json:"version"`
	Type          string   `json:"type"`
	Origin        string   `json:"origin"`
	BrowserName   string   `json:"browserName"`
	Platform      string   `json:"platform"`
	WallTime      int64    `json:"wallTime"`      // milliseconds since 1970
	MonotonicTime float64  `json:"monotonicTime"` // the same moment, on the clock of the others
	Title         string   `json:"title"`
	Options       struct{} `json:"options"`
	ContextID     string   `json:"contextId"`
}

type screencastFrame struct {
	Type              string  `json:"type"`
	PageID            string  `json:"pageId"`
	SHA1              string  `json:"sha1"` // the name of the file below resources
	Width             int     `json:"width"`
	Height            int     `json:"height"`
	Timestamp         float64 `json:"timestamp"`
	FrameSwapWallTime int64   `json:"frameSwapWallTime"`
}

type stackFrame struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

type before struct {
	Type           string            `json:"type"`
	CallID         string            `json:"callId"`
	StartTime      float64           `json:"startTime"`
	Title          string            `json:"title"`
	Class          string            `json:"class"`
	Method         string            `json:"method"`
	Params         map[string]string `json:"params"`
	StepID         string            `json:"stepId"`
	BeforeSnapshot string            `json:"beforeSnapshot,omitempty"`
	Stack          []stackFrame      `json:"stack,omitempty"`
	PageID         string            `json:"pageId"`
	ParentID       string            `json:"parentId,omitempty"`
}

type after struct {
	Type          string            `json:"type"`
	CallID        string            `json:"callId"`
	EndTime       float64           `json:"endTime"`
	AfterSnapshot string            `json:"afterSnapshot,omitempty"`
	Error         *failure          `json:"error,omitempty"`
	Result        map[string]string `json:"result,omitempty"`
}

type failure struct {
	Message string `json:"message"`
	Name    string `json:"name"`
	Stack   string `json:"stack,omitempty"`
}

type log struct {
	Type    string  `json:"type"`
	CallID  string  `json:"callId"`
	Time    float64 `json:"time"`
	Message string  `json:"message"`
}

type event struct {
	Type   string    `json:"type"`
	Time   float64   `json:"time"`
	Class  string    `json:"class"`
	Method string    `json:"method"`
	Params pageError `json:"params"`
	PageID string    `json:"pageId"`
}

type pageError struct {
	Error struct {
		Error failure `json:"error"`
	} `json:"error"`
}

type console struct {
	Type        string   `json:"type"`
	Time        float64  `json:"time"`
	PageID      string   `json:"pageId"`
	MessageType string   `json:"messageType"`
	Text        string   `json:"text"`
	Location    location `json:"location"`
}

type location struct {
	URL          string `json:"url"`
	LineNumber   int    `json:"lineNumber"`
	ColumnNumber int    `json:"columnNumber"`
}

type frameSnapshot struct {
	Type     string   `json:"type"`
	Snapshot snapshot `json:"snapshot"`
}

type snapshot struct {
	SnapshotName      string     `json:"snapshotName"`
	CallID            string     `json:"callId"`
	PageID            string     `json:"pageId"`
	FrameID           string     `json:"frameId"`
	FrameURL          string     `json:"frameUrl"`
	Timestamp         float64    `json:"timestamp"`
	CollectionTime    float64    `json:"collectionTime"`
	Doctype           string     `json:"doctype"`
	HTML              []any      `json:"html"`
	ResourceOverrides []struct{} `json:"resourceOverrides"`
	Viewport          dimensions `json:"viewport"`
	IsMainFrame       bool       `json:"isMainFrame"`
}

type dimensions struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

type resource struct {
	Type     string `json:"type"`
	Snapshot entry  `json:"snapshot"`
}

type entry struct {
	har.Entry

	FrameRef      string  `json:"_frameref"`
	MonotonicTime float64 `json:"_monotonicTime"`
}
