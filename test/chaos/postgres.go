//go:build linux

package main

import (
	"sync"

	"signoff/internal/store/storetest"
)

// lazyCluster is started by the first world that wants a database in it.
type lazyCluster struct {
	mu      sync.Mutex
	cluster *storetest.Cluster
}

func (l *lazyCluster) database() (url string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cluster == nil {
		if l.cluster, err = storetest.NewCluster(false); err != nil {
			return "", err
		}
	}
	return l.cluster.Database()
}

func (l *lazyCluster) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cluster == nil {
		return nil
	}
	return l.cluster.Stop()
}
