package cluster

import (
	"context"
	"errors"
)

// idLength is the length of Node.ID, as bridge.Options.Node has it.
const idLength = 8

// Node is one life of a node: a run of serve, until it ends or its lease does.
type Node struct {
	// ID is the incarnation: 8 characters, A to Z and 2 to 7, of no other life.
	ID string
	// Name is the node's, which its certificate has.
	Name string
	// Address names its listener for other nodes, such as "10.0.0.11:7302".
	Address string
	// Dead is closed when it is known that the node has ended; nil is never.
	Dead <-chan struct{}
}

// IsDead reports whether it is known that the node has ended.
func (n Node) IsDead() bool {
	select {
	case <-n.Dead:
		return true
	default:
		return false
	}
}

// Nodes knows the nodes of the cluster. It answers from memory, and is safe for concurrent use.
type Nodes interface {
	// Self returns this node's own life, as it is now.
	Self() Node
	// Holds reports whether this node may believe that it lives: that no other one declares it dead.
	Holds() bool
	// Find returns the node with that ID, which lives or is known to have ended.
	Find(id string) (n Node, known bool)
	// Others lists the other nodes that live.
	Others() []Node
}

// ErrNone is the error of a session that no node has.
var ErrNone = errors.New("no node has the session")

// Directory knows which node has a session. It is safe for concurrent use.
type Directory interface {
	// Home returns the ID of the node that has the session of that key, and the epoch in which it has
	// it. The error is ErrNone where no node has it; any other one says that nobody can know now.
	Home(ctx context.Context, key string) (id string, epoch int64, err error)
	// Forget has the next Home ask the engine: the node that it named does not have the session.
	Forget(key string)
}
