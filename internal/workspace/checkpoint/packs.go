package checkpoint

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// Every checkpoint adds a pack or some loose objects, and git looks for an object in every pack: without these bounds, each checkpoint would be slower.
const (
	maxPacks = 50
	maxLoose = 8 // of the 256 folders of loose objects, in the one that is counted: about 2,000 in all
)

// scattered reports whether the repository has too many packs or loose objects. It reads two folders.
func (r *Repository) scattered() bool {
	packs := 0
	for _, entry := range namesIn(filepath.Join(r.folder, "objects/pack")) {
		if strings.HasSuffix(entry, ".pack") {
			packs++
		}
	}
	return packs > maxPacks || len(namesIn(filepath.Join(r.folder, "objects/17"))) > maxLoose
}

func namesIn(folder string) []string {
	opened, err := os.Open(folder)
	if err != nil {
		return nil // git has not made it yet
	}
	defer opened.Close()
	names, _ := opened.Readdirnames(-1)
	return names
}

// mergePacks merges the small packs and the loose objects into one pack, after a checkpoint. It copies all objects, also those that no ref holds yet, so it loses
// none that another checkpoint writes at this moment. Afterwards each pack has at least twice as many objects as the next smaller one: the packs are few, and
// git does not copy an object often. git before version 2.32 cannot do this; there, only [Store.Prune] merges packs.
func (r *Repository) mergePacks(ctx context.Context) {
	if r.cannotMerge.Load() || !r.scattered() {
		return
	}
	release, locked, err := r.tryLock(mergeFile)
	if err == nil && locked {
		defer release()
		_, err = r.run(ctx, nil, "", "git", "repack", "--geometric=2", "-d", "-n", "-q")
	}
	if err != nil && ctx.Err() == nil {
		r.cannotMerge.Store(true)
		slog.Warn("the packs of checkpoints are not put together before the next pruning", "repository", r.folder, "error", err)
	}
}
