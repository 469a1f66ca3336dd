package domain

// WorkspaceMode says in which folder an execution works.
type WorkspaceMode string

// Modes of the workspace.
const (
	WorkspaceShared   WorkspaceMode = "shared"   // the working directory itself
	WorkspaceNew      WorkspaceMode = "new"      // an empty folder of its own
	WorkspaceWorktree WorkspaceMode = "worktree" // a clone of the git repository in which the working directory lies
	WorkspaceCopy     WorkspaceMode = "copy"     // a copy of the working directory
)

// OwnFolder is the folder that was made for one execution. The server makes it before the first turn.
type OwnFolder struct {
	Mode       WorkspaceMode `json:"mode"`                 // not shared
	Keep       bool          `json:"keep"`                 // it stays when the execution has ended
	From       string        `json:"from,omitempty"`       // the folder that is copied, or whose repository is cloned; absolute, without links
	Without    []string      `json:"without,omitempty"`    // absolute paths in From that the environment hides
	Repository *Repository   `json:"repository,omitempty"` // of a worktree
}

// Repository is a git repository of a user, as it was when an execution with a clone of it was created.
type Repository struct {
	WorkTree string   `json:"workTree"` // the folder that has .git
	GitDir   string   `json:"gitDir"`   // the folder with the branches and the objects
	Objects  []string `json:"objects"`  // its object store, and the stores from which that borrows; absolute
	Commit   string   `json:"commit"`   // of HEAD
	Format   string   `json:"format"`   // of the names of objects: sha1 or sha256
	Shallow  bool     `json:"shallow,omitempty"`
}

// Clone is the clone in which an execution works.
type Clone struct {
	Folder       string   `json:"folder"`       // its work tree, absolute; the working directory lies in it
	ObjectStores []string `json:"objectStores"` // from which it borrows; absolute
}

// Branch returns the name of the branch of the clone, which is also its name in the user's repository after a fetch.
func (id ExecutionID) Branch() string { return "signoff/" + string(id) }

// WorkspaceMode returns the mode of the request.
func (r Request) WorkspaceMode() WorkspaceMode {
	if r.OwnFolder == nil {
		return WorkspaceShared
	}
	return r.OwnFolder.Mode
}

// MaxNeighbours bounds the list of executions that share a folder with another one.
const MaxNeighbours = 20

// OwnFolderState says whether the own folder of an execution is still needed.
type OwnFolderState struct {
	Ended bool
	Keep  bool // it has no own folder, or keeps it
}
