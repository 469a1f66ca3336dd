// Package folders makes and removes the own folders of executions: an empty one, a clone of a git repository, or a copy of the working directory.
//
// # Model
//
// A [Folders] has one folder of the machine, the base. The base is hidden from every execution. The own folder of an execution lies in it, under the id of the
// execution, and only that execution sees it. [Folders.Make] makes the folder before the first turn, under another name, and renames it when it is complete:
// otherwise a crash could leave an incomplete folder under an id. [Folders.Remove] renames the folder before it removes anything. [Folders.Sweep] removes the
// folders that a crash has left under other names, and the folders that nobody needs.
//
// A worktree is a git repository of the server that borrows the objects of the user's repository. The server copies no object, and does not write the user's
// repository. git runs isolated and sees only the new folder and the borrowed objects. [Folders.Repository] reads files to find the objects, and refuses a
// repository that leads out of the folders that the execution sees.
//
// A copy has the files, links and folders of the working directory with their modes and times, .git and generated folders included. The copies of files share
// their bytes with the originals if the file system can do so. [CopyBounds] bound a copy.
//
// # Promises
//
//   - The package writes and removes nothing outside the base, whatever links an execution has left in its folder ([os.Root]). Only [Folders.Fetch] writes the
//     user's repository.
//   - Make changes nothing in the folder or the repository that it reads.
//   - Make makes a folder only once. If the folder is gone when the execution continues after a turn, Make returns an error: a new folder would hide that the
//     work is lost.
package folders
