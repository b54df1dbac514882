// Command agent-http is a small agent: it reads what a webtool offers, calls one of its
// actions, and waits for the person when the call needs one.
//
// Usage: agent-http [-token TOKEN] URL [ACTION [REQUEST]]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"
)

// document is the reply to GET of a webtool, as far as an agent needs it.
type document struct {
	Name    string
	Version string
	Actions []struct {
		Name          string
		Description   string
		RequestSchema json.RawMessage
	}
}

// call is the body of POST.
type call struct {
	SessionID string          `json:"sessionId,omitempty"`
	Version   string          `json:"version,omitempty"`
	Action    string          `json:"action"`
	Request   json.RawMessage `json:"request"`
	Config    *config         `json:"config,omitempty"`
}

type config struct {
	Resume string `json:"resume,omitempty"`
	Wait   int    `json:"wait,omitempty"` // milliseconds
}

// reply is the reply to POST: data, or an error.
type reply struct {
	Data  json.RawMessage
	Error *struct {
		Code    string
		Message string
		Outcome string
		Details struct {
			Resume   string
			Question struct {
				ID        string
				Title     string
				Detail    string
				ExpiresAt time.Time
			}
		}
	}
}

type agent struct {
	url, token string
	out        io.Writer
}

// ask makes one request.
func (a *agent) ask(ctx context.Context, method, key string, body, into any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return fmt.Errorf("encoding the call: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, a.url, &sent)
	if err != nil {
		return fmt.Errorf("asking %s: %w", a.url, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("asking %s: %w", a.url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("reading the answer of %s (%s): %w", a.url, resp.Status, err)
	}
	return nil
}

// list prints the webtools and their actions.
func (a *agent) list(ctx context.Context) error {
	var d document
	if err := a.ask(ctx, http.MethodGet, "", nil, &d); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s %s\n", d.Name, d.Version)
	for _, x := range d.Actions {
		fmt.Fprintf(a.out, "  %s: %s\n    %s\n", x.Name, x.Description, x.RequestSchema)
	}
	return nil
}

// run calls an action until there is a result. It pins the version that it read, so that only what
// it saw can run, and sends a key, so that a call whose answer is lost can be sent again without
// running twice.
func (a *agent) run(ctx context.Context, action string, request json.RawMessage) error {
	var d document
	if err := a.ask(ctx, http.MethodGet, "", nil, &d); err != nil {
		return err
	}
	session := fmt.Sprintf("agent-%d-%d", os.Getpid(), time.Now().UnixNano())
	c := call{SessionID: session, Version: d.Version, Action: action, Request: request}
	key, told := session, ""
	for {
		var r reply
		if err := a.ask(ctx, http.MethodPost, key, c, &r); err != nil {
			return err
		}
		switch e := r.Error; {
		case e == nil:
			fmt.Fprintln(a.out, string(r.Data))
			return nil
		case e.Details.Resume == "":
			return fmt.Errorf("%s (%s): %s", e.Code, e.Outcome, e.Message)
		case e.Details.Question.ID != told:
			q := e.Details.Question
			told = q.ID
			fmt.Fprintf(a.out, "A person must answer until %s: %s\n", q.ExpiresAt.Local().Format(time.TimeOnly), q.Title)
			for line := range strings.Lines(q.Detail) {
				fmt.Fprintf(a.out, "  > %q\n", strings.TrimRight(line, "\n"))
			}
		}
		// The same call again, with its token: it waits for the person.
		c.Config, key = &config{Resume: r.Error.Details.Resume, Wait: 20_000}, ""
	}
}

func do(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("agent-http", flag.ContinueOnError)
	a := &agent{out: out}
	flags.StringVar(&a.token, "token", os.Getenv("PAGETOOLS_TOKEN"), "the credential, when the server asks for one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	a.url = flags.Arg(0)
	switch flags.NArg() {
	case 1:
		return a.list(ctx)
	case 2:
		return a.run(ctx, flags.Arg(1), json.RawMessage("{}"))
	case 3:
		request := json.RawMessage(flags.Arg(2))
		if !json.Valid(request) {
			return errors.New("REQUEST is not JSON")
		}
		return a.run(ctx, flags.Arg(1), request)
	}
	return errors.New("usage: agent-http [-token TOKEN] URL [ACTION [REQUEST]]")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := do(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-http:", err)
		os.Exit(1)
	}
}
