//go:build linux

package main

import (
	"time"

	"signoff/internal/store/storetest"
)

// restarts takes the whole Postgres down under load, in each of its three ways, and ends all its sessions again and again. The
// servers live on and say that they cannot; when the database is back they go on by themselves. So does one that was killed and started meanwhile.
func restarts(r *run) {
	cluster, err := storetest.NewCluster(false)
	r.must(err)
	defer func() { r.must(cluster.Stop()) }()
	url, err := cluster.Database()
	r.must(err)
	w := newWorld(r, setup{name: "postgres", database: url, replicas: 2, live: 20})
	defer w.close()
	watch := w.watch()
	defer watch.close()
	d := r.dice.own()
	first := d.below(3)
	w.load.start()
	for cycle := range r.cycles {
		w.load.awaitLive(16)
		r.sleep(d.between(100*time.Millisecond, 800*time.Millisecond))
		how := []storetest.Shutdown{storetest.Fast, storetest.Immediate, storetest.Killed}[(first+cycle)%3]
		r.must(cluster.Down(how))
		r.logf("the database is down: %s", how)
		victim := w.any(d)
		r.must(victim.kill())
		r.must(victim.launch())
		r.sleep(d.between(0, 1500*time.Millisecond))
		r.must(cluster.Up())
		r.count("restarts "+string(how), 1)
		r.must(victim.ready(60 * time.Second))
		watch.heal(time.Now())
		w.terminated(cluster, d)
		watch.heal(time.Now())
		r.cycled()
	}
	w.load.settle(comeBack)
	watch.close()
	w.check()
}

// terminated ends all sessions of the cluster, again and again for a while and wherever they are.
func (w *world) terminated(cluster *storetest.Cluster, d *dice) {
	for range 5 + d.below(10) {
		ended, err := cluster.EndSessions(w.run.ctx)
		w.run.must(err)
		w.run.count("sessions ended", ended)
		w.run.sleep(d.between(5*time.Millisecond, 150*time.Millisecond))
	}
}
