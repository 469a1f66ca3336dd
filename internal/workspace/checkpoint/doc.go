// Package checkpoint records what a folder holds at one moment, compares two moments, and takes back what an execution has changed in between.
//
// # Model
//
// A [Store] has a [Repository] for each workspace: a bare git repository in the server's data folder, with the contents that the workspace has had. The user's own
// .git is only looked at. A [Series] is the checkpoints of one execution in that workspace. [Series.Take] walks over the folder, reads the files that differ
// from the checkpoint before, and writes a commit. The tree of the commit has two entries:
//
//	files/     the files and links of the folder, under their paths
//	manifest   modes, owners and empty folders, which git does not keep; the paths that are not covered, each with its reason;
//	           and who has changed each path since the checkpoint before
//
// The server reads the files itself, below an [os.Root]. git gets their bytes over its standard input (git-fast-import). It runs isolated, with its repository
// alone in sight, so nothing in a workspace can name a program that git would run: no hook, no filter, no attribute, no configuration. For one
// question git sees the workspace, read-only: which paths a .gitignore names (coverage.go).
//
// [Repository.Plan] plans the way back to an earlier checkpoint: the paths that the execution alone has changed since. [Repository.Restore] goes that way. It puts each file in
// the place of the present one by an exchange of names, and looks at what came out; if that is not what the last checkpoint saw, it exchanges the names back.
//
// # Cost
//
// A walk costs one lstat a file. A file is read only if its size, its times, its inode or its mode differ from those of the last reading, or if it changed
// in the two seconds before that: a second write within one tick of the clock would leave the times as they were. Where no content differs, no
// git process starts. The contents of one checkpoint lie in one pack, or loose where there are few. A file remembers the readings (index.go), so the next
// execution in the same folder reads only what has changed since.
//
// # Promises
//
//   - What a checkpoint holds of a file are its exact bytes at one moment during Take, and its mode. A file that changes while it is read is not covered.
//   - A path of the folder is covered, or it is in NotCovered with a reason.
//   - When Take returns a checkpoint, its objects and its ref are on disk. When it returns an error, the checkpoint before is still the last of the
//     series.
//   - Take writes nothing to the workspace. Restore replaces and removes only a file whose bytes, mode and owner are those of the last checkpoint, which nobody has open for
//     writing, and which has no second name. What it puts there has the mode of the earlier checkpoint, never for a moment a wider one.
//
// Sources: https://git-scm.com/docs/git-fast-import, https://git-scm.com/docs/git-diff-tree, https://git-scm.com/docs/git-check-ignore, rename(2), fcntl(2).
//
// A Store and a Repository may be used by many goroutines and servers at once; a Series by one.
package checkpoint
