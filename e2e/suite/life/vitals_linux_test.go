package life_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// operatorToken is the token of a caller that reads the metrics, and makes the last calls.
const operatorToken = "operator-token-of-the-tests"

// quietWithin bounds the time until sessions that nobody uses are gone.
const quietWithin = 90 * time.Second

// vitals holds the numbers that must not grow.
type vitals struct {
	goroutines, files, pages, spares, questions, queued int
	rss, pss                                            int64 // bytes: of the server, and of the processes below it
	processes, stopped, profiles                        int
}

var metricLine = regexp.MustCompile(`(?m)^(\w+) ([0-9.e+]+)$`)

// vitalsOf reads them. They are not ok while the server does not say them.
func vitalsOf(t *testing.T, s *suite.Server) (v vitals, ok bool) {
	t.Helper()
	r := s.As(t, operatorToken, http.MethodGet, s.URL+"/metrics", "")
	if r.Err != nil || r.Status != http.StatusOK {
		return v, false
	}
	is := map[string]float64{}
	for _, m := range metricLine.FindAllSubmatch(r.Body, -1) {
		is[string(m[1])], _ = strconv.ParseFloat(string(m[2]), 64)
	}
	v = vitals{
		goroutines: int(is["go_goroutines"]), files: int(is["process_open_fds"]), rss: int64(is["process_resident_memory_bytes"]),
		pages: int(is["pagetools_pages_held"]), spares: int(is["pagetools_pages_spare"]),
		questions: int(is["pagetools_questions_open"]), queued: int(is["pagetools_calls_queued"]),
	}
	below := suite.Descendants(s.Cmd.Process.Pid)
	v.processes = len(below)
	for _, p := range below {
		v.pss += pssOf(p.PID)
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID)); err == nil && strings.Contains(string(stat), ") T ") {
			v.stopped++
		}
	}
	profiles, _ := filepath.Glob(filepath.Join(s.Tmp, "pagetools-profile-*[0-9]")) // the pattern is a good one
	v.profiles = len(profiles)
	return v, v.goroutines > 0 && v.files > 0 && v.rss > 0
}

var pssLine = regexp.MustCompile(`(?m)^Pss_(?:Anon|Shmem): +([0-9]+) kB$`)

// pssOf is the memory of a process, with its part of what it shares, in bytes. Files are left out:
// how much of the program is a process's part depends on how many other browsers run.
func pssOf(pid int) (bytes int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // gone: it has none
	for _, m := range pssLine.FindAllSubmatch(text, -1) {
		kB, _ := strconv.ParseInt(string(m[1]), 10, 64)
		bytes += kB << 10
	}
	return bytes
}

// idle reports whether nothing waits or runs.
func (v vitals) idle() bool {
	return v.pages == 0 && v.questions == 0 && v.queued == 0 && v.stopped == 0 && v.profiles == 1
}

func (v vitals) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %d pages held, %d spare, %d questions, %d queued, %d MB, %d MB below in %d processes (%d stopped), %d profiles",
		v.goroutines, v.files, v.pages, v.spares, v.questions, v.queued, v.rss>>20, v.pss>>20, v.processes, v.stopped, v.profiles)
}

// rest waits until nothing runs any more and fits says yes, and returns the vitals then.
func rest(t *testing.T, s *suite.Server, fits func(vitals) bool) (v vitals, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), quietWithin)
	defer cancel()
	for !ok && pause(ctx, 200*time.Millisecond) {
		http.DefaultClient.CloseIdleConnections() // each is a file and goroutines there
		var read bool
		v, read = vitalsOf(t, s)
		ok = read && v.idle() && fits(v)
	}
	return v, ok
}

func anyVitals(vitals) bool { return true }
