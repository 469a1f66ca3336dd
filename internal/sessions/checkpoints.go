package sessions

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/checkpoints"
	"signoff/internal/domain"
)

// Checkpoints opens the keepers of checkpoints.
type Checkpoints interface {
	// Unavailable says why this server takes no checkpoints; empty: it takes them.
	Unavailable() string
	Keep(execution checkpoints.Execution, report checkpoints.Report) *checkpoints.Keeper
}

// checkpointing opens and closes the keeper of the execution's checkpoints.
type checkpointing struct {
	core
	inbox     *inbox
	keeper    *checkpoints.Keeper // nil: not opened, or the execution has no folder that it may write
	recovered bool                // an earlier driver may have run something after the newest checkpoint
}

// pointReported is a checkpoint whose keeper waits until its event is in the log.
type pointReported struct {
	event domain.CheckpointCreated
	reply chan error // one slot
}

// open opens the keeper, unless it is open. An execution that takes no checkpoints has a keeper, too: without it, the keepers of other executions could not know
// when this execution writes.
func (c *checkpointing) open() {
	if c.keeper != nil || c.engine.checkpoints == nil || c.engine.checkpoints.Unavailable() != "" {
		return
	}
	folders, mode := c.folders(), c.execution.Request.Checkpoints
	switch {
	case !c.needed():
		mode = domain.CheckpointsOff
	case c.unavailable() != "":
		folders, mode = []string{"/"}, domain.CheckpointsOff // its commands may write anywhere
	}
	if len(folders) == 0 {
		return
	}
	c.keeper = c.engine.checkpoints.Keep(checkpoints.Execution{
		ID: c.execution.ID, Mode: mode, Folders: folders, External: c.external(),
		Trees: maps.Clone(c.progress.Checkpoint.Trees), Recovered: c.recovered,
	}, c.report)
}

// close closes the keeper, which gives up the checkpoints that it has not taken yet.
func (c *checkpointing) close() {
	if c.keeper != nil {
		c.keeper.Close()
		c.keeper = nil
	}
}

// report puts an event into the inbox, and returns when it is committed. The goroutine of the keeper calls it.
func (c *checkpointing) report(ctx context.Context, event domain.CheckpointCreated) error {
	reported := &pointReported{event: event, reply: make(chan error, 1)}
	if err := c.inbox.put(item{checkpoint: reported}); err != nil {
		return err
	}
	select {
	case err := <-reported.reply:
		return err
	case <-c.inbox.over:
		return errOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write gives a checkpoint its number and writes its event.
func (c *checkpointing) write(change *changeSet, reported *pointReported) {
	event := reported.event
	event.Turn = c.turnNumber()
	if event.Status == domain.CheckpointTaken {
		event.Checkpoint = c.progress.Checkpoint.Number + 1
	}
	change.emit(event)
	change.replies = append(change.replies, func() { reported.reply <- nil })
}

// reportUnavailable writes one event if the execution takes no checkpoints although its request asks for them.
func (c *checkpointing) reportUnavailable(change *changeSet) {
	why := c.unavailable()
	if why == "" || c.progress.Checkpoint.Unavailable {
		return
	}
	change.emit(domain.CheckpointCreated{
		Turn: c.turnNumber(), Moment: domain.TurnBegins, Status: domain.CheckpointUnavailable, Folders: []domain.CheckpointFolder{},
		Error: &domain.Failure{Code: domain.CodeCheckpointFailed, Message: why},
	})
}

// needed reports whether the request asks for checkpoints, and the agent has a way to write.
func (c *checkpointing) needed() bool {
	request := c.execution.Request
	if c.engine.checkpoints == nil || request.Checkpoints == "" || request.Checkpoints == domain.CheckpointsOff {
		return false
	}
	can := request.Capabilities
	return c.external() || slices.ContainsFunc([]domain.Verdict{can.Write, can.Execute, can.MCP, can.Host}, func(v domain.Verdict) bool { return v != domain.Deny })
}

// unavailable says why the execution takes no checkpoints although it needs them; empty: it takes them, or needs none.
func (c *checkpointing) unavailable() string {
	switch {
	case !c.needed():
		return ""
	case c.environment.View == domain.ViewHost && !c.external():
		return "Commands of the environment " + c.environment.Name + " run on the host without isolation, and may write anywhere."
	default:
		return c.engine.checkpoints.Unavailable()
	}
}

// folders returns the folders that the execution may write.
func (c *checkpointing) folders() []string {
	directory := c.execution.Request.WorkingDirectory
	if clone := c.execution.Request.Clone; clone != nil { // commands may write the whole clone
		directory = clone.Folder
	}
	if c.external() && !c.environment.holdsAgent {
		return []string{directory}
	}
	var all []string
	if !c.environment.ReadOnly {
		all = append(all, directory)
	}
	for _, mount := range c.environment.Mounts {
		if mount.Access == domain.AccessWrite {
			all = append(all, mount.Path)
		}
	}
	return outermost(all)
}

// outermost leaves out the folders that lie in another one.
func outermost(folders []string) []string {
	slices.Sort(folders)
	var all []string
	for _, folder := range folders {
		if n := len(all); n == 0 || folder != all[n-1] && !strings.HasPrefix(folder, strings.TrimSuffix(all[n-1], "/")+"/") {
			all = append(all, folder)
		}
	}
	return all
}

// beforeCall takes the checkpoint before a call of an internal agent that may write anywhere in the folders.
func (h *host) beforeCall(ctx context.Context, call domain.ToolCall) error {
	if call.Class != domain.ClassExecute && call.Class != domain.ClassMCP && call.Class != domain.ClassHost {
		return nil
	}
	if err := h.uncovered(); err != nil || h.keeper == nil {
		return err
	}
	return h.keeper.BeforeCall(ctx, call.ID)
}

// uncovered returns an error if the execution requires checkpoints but cannot take any, so that no call may run.
func (h *host) uncovered() error {
	if h.execution.Request.Checkpoints != domain.CheckpointsRequired || h.noCheckpoints == "" {
		return nil
	}
	return domain.Errorf(domain.CodeCheckpointFailed, "%s The request asks for checkpoints: required, so the call did not run.", h.noCheckpoints)
}

// refuseUncovered ends a call that was allowed but did not run, because it has no checkpoint.
func (h *host) refuseUncovered(ctx context.Context, call domain.ToolCall, why error) (domain.Grant, error) {
	if ctx.Err() != nil {
		return domain.Grant{}, context.Cause(ctx)
	}
	failure := domain.FailureOf(why)
	err := h.Emit(ctx, domain.ToolCallCompleted{ToolCallID: call.ID, Outcome: domain.OutcomeFailed, Output: failure.Message, Error: &failure})
	return domain.Grant{Message: failure.Message}, err
}

// recorded calls write between two checkpoints of the files that it changes.
func (h *host) recorded(ctx context.Context, changes []domain.FileChange, write func() error) error {
	if err := h.uncovered(); err != nil {
		return err
	}
	if h.keeper == nil {
		return write()
	}
	files, call := h.written(changes), changes[0].ToolCallID
	if err := h.keeper.BeforeWrite(ctx, call, files); err != nil {
		return err
	}
	err := write()
	if err == nil {
		err = h.keeper.AfterWrite(ctx, call, files)
	}
	return err
}

// written converts changes for the keeper.
func (h *host) written(changes []domain.FileChange) []checkpoints.Written {
	files := make([]checkpoints.Written, 0, len(changes))
	for _, change := range changes {
		path := change.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(h.environment.directory, path)
		}
		file := checkpoints.Written{Path: filepath.Clean(path)}
		if !change.Delete {
			file.Object = checkpoints.ObjectOf(change.Content)
		}
		files = append(files, file)
	}
	return files
}

// promptBetweenCheckpoints prompts the agent. It returns after the last checkpoint of the turn.
func (h *host) promptBetweenCheckpoints(ctx context.Context, prompt func() (domain.StopReason, error)) (domain.StopReason, error) {
	if h.keeper == nil {
		return prompt()
	}
	if err := h.keeper.BeginTurn(ctx); err != nil {
		return "", err
	}
	defer h.keeper.EndTurn(ctx)
	return prompt()
}

// reversibility tells a person whether a rollback could take a call back.
func (c *checkpointing) reversibility(asked *call, kind domain.ApprovalKind) domain.Reversibility {
	answer := func(how domain.Reversible, why string) domain.Reversibility {
		return domain.Reversibility{Reversible: how, ReversibleReason: why}
	}
	switch {
	case kind != domain.ApprovalToolCall && kind != domain.ApprovalAgentPermission, asked.Class == domain.ClassRead, asked.Class == domain.ClassDelegate:
		return domain.Reversibility{}
	case asked.ask != nil && asked.ask.client:
		return answer(domain.ReversibleNo, "The client runs this call.")
	case !c.needed():
		return answer(domain.ReversibleNo, "This execution takes no checkpoints.")
	case c.unavailable() != "":
		return answer(domain.ReversibleNo, c.unavailable())
	case len(c.folders()) == 0:
		return answer(domain.ReversibleNo, "There is no folder that the call could write, and nothing else goes back.")
	case kind == domain.ApprovalAgentPermission:
		return answer(domain.ReversiblePartly, "The agent writes by itself: nobody sees which changes are its own, and they go back only where you name them.")
	case asked.Class == domain.ClassMCP:
		return answer(domain.ReversiblePartly, "Files of the workspace go back. Changes that the MCP server makes elsewhere do not.")
	case asked.Class == domain.ClassNetwork, len(asked.Action.Hosts) > 0:
		return answer(domain.ReversiblePartly, "Files of the workspace go back. Changes that are made over the network do not.")
	case asked.Class == domain.ClassExecute:
		return answer(domain.ReversiblePartly, "Files that the checkpoints cover go back, as long as nobody else changes them.")
	default:
		return answer(domain.ReversibleYes, "The file goes back, as long as nobody else changes it.")
	}
}
