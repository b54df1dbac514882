package cluster

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// HopHeader says of a request that a node passes on, why. It counts on the listener for nodes only.
const HopHeader = "Pagetools-Hop"

// Headers by which processes of one user, or nodes, tell each other who an operator is.
const operatorHeader, loginHeader = "Pagetools-Operator", "Pagetools-Login"

// hopFormat is the version of the header. One with a higher version is refused, and members that are
// not known count nowhere: a member is added in one release, and needed in the next.
const hopFormat = "1"

// maxHop bounds the header, and maxLeft what it says of time.
const maxHop, maxLeft = 512, 24 * time.Hour

// hop is the content of the header.
type hop struct {
	entry, home string
	// operators is true of a request to the operators' API.
	operators bool
	epoch     int64
	call      string // the id of the request, and of its call
	attempt   int
	left      time.Duration // of the caller's time
}

func (h hop) String() string {
	if h.operators {
		return fmt.Sprintf("v=%s; entry=%s; home=%s; to=operators", hopFormat, h.entry, h.home)
	}
	return fmt.Sprintf("v=%s; entry=%s; home=%s; epoch=%d; call=%s; attempt=%d; left=%d",
		hopFormat, h.entry, h.home, h.epoch, h.call, h.attempt, h.left.Milliseconds())
}

var (
	nodeID = regexp.MustCompile(`^[A-Z2-7]{8}$`)
	callID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// hopOf reads the header of a request. It is false where there is none that can be read.
func hopOf(r *http.Request) (h hop, ok bool) {
	given := r.Header.Values(HopHeader)
	if len(given) != 1 || len(given[0]) > maxHop {
		return h, false
	}
	members := map[string]string{}
	for part := range strings.SplitSeq(given[0], ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := members[name]; twice {
			return h, false
		}
		members[name] = value
	}
	h.entry, h.home, h.call, h.operators = members["entry"], members["home"], members["call"], members["to"] == "operators"
	if members["v"] != hopFormat || !nodeID.MatchString(h.entry) || !nodeID.MatchString(h.home) || members["to"] != "" && !h.operators {
		return h, false
	}
	if h.operators {
		return h, true
	}
	number := func(name string, most int64) int64 {
		n, err := strconv.ParseInt(members[name], 10, 64)
		if err != nil || n < 0 || n > most {
			ok = false
		}
		return n
	}
	ok = callID.MatchString(h.call)
	h.epoch, h.attempt = number("epoch", 1<<62), int(number("attempt", 1<<20))
	h.left = time.Duration(number("left", maxLeft.Milliseconds())) * time.Millisecond
	return h, ok
}
