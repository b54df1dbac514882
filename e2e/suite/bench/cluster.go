package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/store/jetstream"
)

const (
	// clusterLease belongs to the nodes that are measured.
	clusterLease = 2 * time.Second
	// manyNodes and manySessions are in one engine.
	manyNodes, manySessions = 100, 10_000
	// sessionRecord is about as long as the record of a session.
	sessionRecord = 600
)

// clusterRows measure calls through another node, the end of a node, and what 100 nodes cost the engine.
func clusterRows(ctx context.Context, bin, url string) (rows []row, err error) {
	servers := filepath.SplitList(os.Getenv("PAGETOOLS_NATS_SERVERS"))
	if len(servers) == 0 {
		return nil, errors.New("there is no NATS server: PAGETOOLS_NATS_SERVERS=$(scripts/nats.sh)")
	}
	dir := filepath.Dir(bin)
	engine, address, err := engine(ctx, servers[len(servers)-1], filepath.Join(dir, "nats"))
	if err != nil {
		return nil, fmt.Errorf("the engine: %w", err)
	}
	defer end(engine.Process.Pid)
	key, config := filepath.Join(dir, "cluster.key"), filepath.Join(dir, "cluster.yaml")
	secret, err := exec.CommandContext(ctx, bin, "cluster", "key").Output()
	err = errors.Join(err, os.WriteFile(key, secret, 0o600), os.WriteFile(config, fmt.Appendf(nil, noiseConfig, url+"/", url+"/"), 0o600))
	if err != nil {
		return nil, err
	}
	node := func(name string) (*server, error) {
		l, err := listen()
		if err != nil {
			return nil, err
		}
		peer := l.Addr().String()
		_ = l.Close()
		return serve(ctx, bin, "--config", config, "--warm", "0", "--cluster", "nats://"+address, "--cluster-key-file", key,
			"--node", name, "--peer-listen", peer, "--lease", clusterLease.String(), "--max-sessions", strconv.Itoa(size.many+8)) // more than a whole browser would be given
	}
	alone, err := serve(ctx, bin, "--config", config, "--warm", "0")
	if err != nil {
		return nil, err
	}
	defer alone.stop()
	a, err := node("a")
	if err != nil {
		return nil, err
	}
	defer a.stop()
	b, err := node("b")
	if err != nil {
		return nil, err
	}
	defer b.stop()
	if rows, err = routedRows(alone, b, a); err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	taken, err := takeoverRow(a, b)
	if err != nil {
		return rows, fmt.Errorf("the end of a node: %w", err)
	}
	crowd, err := crowdRow(ctx, engine.Process.Pid, "nats://"+address)
	if err != nil {
		return append(rows, taken), fmt.Errorf("many nodes: %w", err)
	}
	return append(rows, taken, crowd), nil
}

// engine starts a NATS server with records in a folder, and returns its address.
func engine(ctx context.Context, path, dir string) (*exec.Cmd, string, error) {
	l, err := listen()
	if err != nil {
		return nil, "", err
	}
	address := l.Addr().String()
	_ = l.Close()
	host, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(ctx, path, "-a", host, "-p", port, "-js", "-sd", dir)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	starting, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		store, err := jetstream.Open(starting, jetstream.Options{Servers: []string{"nats://" + address}, Name: "bench"})
		if err == nil {
			store.Close()
			return cmd, address, nil
		}
		if !records.Pause(starting, 10*time.Millisecond) {
			end(cmd.Process.Pid)
			return nil, "", err
		}
	}
}

// routedRows times calls of one session, in turns: of a process without a cluster, at the node that has the
// session, and through another one, which makes them under a ticket.
func routedRows(alone, home, entry *server) ([]row, error) {
	var calls []func() error
	var hangUps []func()
	defer func() {
		for _, hangUp := range hangUps {
			hangUp()
		}
	}()
	for _, s := range []*server{alone, home, entry} { // the session begins at its home, before it is asked for elsewhere
		call, hangUp, err := lightCall(s)
		if err != nil {
			return nil, err
		}
		calls, hangUps = append(calls, call), append(hangUps, hangUp)
		if err := call(); err != nil {
			return nil, err
		}
	}
	took, err := inTurns(calls)
	if err != nil {
		return nil, err
	}
	direct, here, routed := took[0], took[1], took[2]
	at := latency("call at the node that has its session, against a process alone, p50", here, direct, 1.05)
	at.target = "at most 1.05"
	return []row{at, latency("call through another node, with its ticket, against the node itself, p50", routed, here, 1.6)}, nil
}

// takeoverRow kills a node with sessions, and times until another one has answered for all of them.
func takeoverRow(a, b *server) (row, error) {
	call := func(s *server, id int) error {
		c, err := dial(s.base)
		if err != nil {
			return err
		}
		defer c.close()
		_, err = c.doWith(http.MethodPost, "/webtools/bench", fmt.Appendf(nil, `{"sessionId":"s%d","action":"noop","request":{}}`, id), heavyCaller)
		return err
	}
	for id := range 2 * size.many { // a second use keeps a session
		if err := call(b, id/2); err != nil {
			return row{}, err
		}
	}
	for _, pid := range family([]int{b.Process.Pid}) {
		end(pid)
	}
	began := time.Now()
	var all sync.WaitGroup
	errs := make([]error, size.many)
	for id := range size.many {
		all.Go(func() {
			for err := call(a, id); !strings.Contains(fmt.Sprint(err), "410"); err = call(a, id) {
				if err == nil || time.Since(began) > time.Minute {
					errs[id] = errors.Join(fmt.Errorf("session %d goes on", id), err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	return row{fmt.Sprintf("from the kill of a node to the answer of another one for all of its %d sessions", size.many), took.Round(time.Millisecond).String(), "lease " + clusterLease.String(),
		fmt.Sprintf("%.2f leases", float64(took)/float64(clusterLease)), "under 2 leases", took < 2*clusterLease}, errors.Join(errs...)
}

// crowdRow measures the engine while many nodes renew their leases and watch each other, with the records of
// many sessions there.
func crowdRow(ctx context.Context, engine int, address string) (row, error) {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	var stores []*jetstream.Store
	defer func() {
		stop()
		all.Wait()
		for _, store := range stores {
			store.Close()
		}
	}()
	for i := range manyNodes {
		store, err := jetstream.Open(ctx, jetstream.Options{Servers: []string{address}, Name: fmt.Sprint("n", i)})
		if err != nil {
			return row{}, err
		}
		stores = append(stores, store)
		if i == 0 {
			if err := putSessions(ctx, store); err != nil {
				return row{}, err
			}
		}
		n, err := lease.Join(ctx, lease.Options{Records: store, About: func() lease.Facts { return lease.Facts{Node: fmt.Sprint("n", i)} }})
		if err != nil {
			return row{}, err
		}
		all.Go(func() { n.Run(ctx) })
	}
	before, began := busy([]int{engine}), time.Now()
	<-time.After(size.idle)
	share := 100 * float64(busy([]int{engine})-before) / float64(time.Since(began))
	return row{fmt.Sprintf("the engine, with %d nodes of a lease of %v, and %d sessions", manyNodes, lease.DefaultLease, manySessions),
		fmt.Sprintf("%.0f %% of a core", share), "", "", "under 100 %", share < 100}, nil
}

// putSessions makes records as long as those of sessions.
func putSessions(ctx context.Context, store *jetstream.Store) error {
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			for id := i; id < manySessions && errs[i] == nil; id += callers {
				_, errs[i] = store.Create(ctx, fmt.Sprintf("s.SESSION%019d", id), []byte(strings.Repeat("x", sessionRecord)))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
