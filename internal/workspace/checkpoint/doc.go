// Package checkpoint records what a folder holds at one moment, compares two moments, and takes back what an execution has changed in between.
//
// # Model
//
// A [Store] has a [Repository] for each workspace: a bare git repository in the server's data folder, with the contents that the workspace has had. The package
// only reads the user's own .git. A [Series] holds the checkpoints of one execution in that workspace. [Series.Take] walks over the folder, reads the files that
// differ from the checkpoint before, and writes a commit. The tree of the commit has two entries:
//
//	files/     the files and links of the folder, under their paths
//	manifest   modes, owners, ACLs and empty folders, which git does not keep; the paths that are not covered, each with its reason;
//	           and who changed each path since the checkpoint before
//
// The server reads the files itself, below an [os.Root]. git gets their bytes over its standard input (git-fast-import). git runs isolated and sees only its
// repository, so nothing in a workspace can name a program that git would run: no hook, no filter, no attribute, no configuration. git sees the workspace,
// read-only, for one question: which paths a .gitignore names (coverage.go).
//
// [Repository.Plan] plans a rollback to an earlier checkpoint: it restores the paths that only the execution has changed since. [Repository.Restore] does the
// steps of the plan. It exchanges the names of the present file and the restored one, and then looks at the file that it has replaced. If that is not the file
// that the last checkpoint saw, it exchanges the names back. After a kill, [Repository.Recover] removes
// the files that a restore has left beside its paths, or puts them back under their names.
//
// # Cost
//
// A walk costs one lstat a file. A checkpoint reads a file only if its size, its times, its inode or its mode differ from those of the last reading, or if it
// changed in the two seconds before that reading: a second write within one tick of the clock would leave the times as they were. If no content differs, no git
// process starts. [Series.TakePaths] looks only at the paths that a file tool has written, with one lstat for each of them and for each folder above. git keeps
// the contents of one checkpoint in one pack, or as loose objects if they are few. The index (index.go) lists the readings, so the next execution in the same
// folder reads only the files that have changed since. If none has changed, it begins with the first checkpoint of the execution before, and no git process
// starts. A series writes the index with its first checkpoint, and again when it has read much since.
//
// [Store.Prune] removes the objects that no series holds. It writes a pack of the others first, and locks the repository only while it removes (prune.go,
// lock.go). Between two prunings, a checkpoint now and then merges packs (packs.go). The store counts the size of all repositories once a minute (store.go).
//
// # Promises
//
//   - A checkpoint holds the exact bytes of a file at one moment during Take, its mode and its POSIX ACL. A file that changes while Take reads it is not covered.
//   - A path of the folder is covered, or it is in NotCovered with a reason.
//   - When Take returns a checkpoint, its objects and its ref are on disk. When it returns an error, the checkpoint before is still the last of the series.
//   - A pruning removes no object that a checkpoint has found or written, even if another server takes that checkpoint.
//   - Take writes nothing to the workspace. Restore replaces and removes only a file whose bytes, mode, ACL and owner are those of the last checkpoint, which nobody
//     has open for writing, and which has no second name. The restored file has the mode and the ACL of the earlier checkpoint from its first moment, never a wider one.
//
// Sources: https://git-scm.com/docs/git-fast-import, https://git-scm.com/docs/git-diff-tree, https://git-scm.com/docs/git-check-ignore,
// https://git-scm.com/docs/git-repack, https://git-scm.com/docs/git-prune, rename(2), fcntl(2), flock(2).
//
// Many goroutines and servers may use a Store and a Repository at once. Only one goroutine may use a Series.
package checkpoint
