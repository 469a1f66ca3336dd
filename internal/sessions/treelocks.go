package sessions

import (
	"context"
	"sync"

	"signoff/internal/domain"
)

// treeLocks lets one execution of a tree at a time change files. In environments that show more than the workspace, each execution has its own process for
// changes. Between the check of a file and its write, the process of another execution could write the same file.
type treeLocks struct {
	mu    sync.Mutex
	trees map[domain.ExecutionID]*treeLock // by their root
}

type treeLock struct {
	free  chan struct{} // holds one token
	users int           // the number of those who hold it or wait for it
}

func newTreeLocks() *treeLocks { return &treeLocks{trees: map[domain.ExecutionID]*treeLock{}} }

// hold waits until no other execution of the tree changes files, and runs change.
func (l *treeLocks) hold(ctx context.Context, root domain.ExecutionID, change func() error) error {
	tree := l.enter(root)
	defer l.leave(root)
	select {
	case <-tree.free:
		defer func() { tree.free <- struct{}{} }()
		return change()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *treeLocks) enter(root domain.ExecutionID) *treeLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	tree := l.trees[root]
	if tree == nil {
		tree = &treeLock{free: make(chan struct{}, 1)}
		tree.free <- struct{}{}
		l.trees[root] = tree
	}
	tree.users++
	return tree
}

func (l *treeLocks) leave(root domain.ExecutionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trees[root].users--; l.trees[root].users == 0 {
		delete(l.trees, root)
	}
}
