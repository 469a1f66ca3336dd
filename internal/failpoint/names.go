package failpoint

import "slices"

// Name is a moment at which a server may die.
type Name string

// The names, each with the one place in which it stands.
const (
	// The steps of a batch, each before it is taken, in their order.
	StoreTakeKeys          Name = "store.takeKeys"
	StoreCreateExecutions  Name = "store.createExecutions"
	StoreCreateHeads       Name = "store.createHeads"
	StoreResolveApprovals  Name = "store.resolveApprovals"
	StoreTakeHeads         Name = "store.takeHeads"
	StoreAdmitPrompts      Name = "store.admitPrompts"
	StoreAdmitResumes      Name = "store.admitResumes"
	StoreAdmitAnswers      Name = "store.admitAnswers"
	StoreAdmitAcceptances  Name = "store.admitAcceptances"
	StoreMovePrompts       Name = "store.movePrompts"
	StoreLoseNothing       Name = "store.loseNothing"
	StoreAppendEvents      Name = "store.appendEvents"
	StoreTellWebhooks      Name = "store.tellWebhooks"
	StoreAppendFeed        Name = "store.appendFeed"
	StoreUpdateExecutions  Name = "store.updateExecutions"
	StoreAskApprovals      Name = "store.askApprovals"
	StoreRememberRules     Name = "store.rememberRules"
	StoreCountHits         Name = "store.countHits"
	StoreAskClients        Name = "store.askClients"
	StoreCloseClients      Name = "store.closeClients"
	StoreKeepAnswers       Name = "store.keepAnswers"
	StoreCancelClients     Name = "store.cancelClients"
	StoreAddGenerations    Name = "store.addGenerations"
	StoreAcceptGenerations Name = "store.acceptGenerations"
	StoreCancelGenerations Name = "store.cancelGenerations"
	StoreQueuePrompts      Name = "store.queuePrompts"
	StoreKeepWishes        Name = "store.keepWishes"
	StoreAppendDebug       Name = "store.appendDebug"
	StoreAppendAudit       Name = "store.appendAudit"

	// Every transaction of the server, but for those that are one statement: a batch of plain changes on Postgres.
	StoreBeforeCommit   Name = "store.beforeCommit"
	StoreCommitted      Name = "store.committed"
	StoreBeforePlain    Name = "store.beforePlain"
	StorePlainCommitted Name = "store.plainCommitted"

	// The schema.
	MigrateBegin          Name = "migrate.begin"
	MigrateStatementsDone Name = "migrate.statementsDone"
	MigrateFileDone       Name = "migrate.fileDone"
	MigrateDone           Name = "migrate.done"

	// The first token: the file comes before the key.
	KeysBeforeFile   Name = "keys.beforeFile"
	KeysBeforeRename Name = "keys.beforeRename"
	KeysFileWritten  Name = "keys.fileWritten"
	KeysCreated      Name = "keys.created"

	// The right to drive, and what is driven under it.
	LeaseBeforeHeartbeat Name = "lease.beforeHeartbeat"
	LeaseRenewed         Name = "lease.renewed"
	LeaseBeforeSetAside  Name = "lease.beforeSetAside"
	LeaseSetAside        Name = "lease.setAside"
	LeaseBeforeClaim     Name = "lease.beforeClaim"
	LeaseClaimed         Name = "lease.claimed"
	LeaseBeforeRelease   Name = "lease.beforeRelease"
	LeaseReleased        Name = "lease.released"
	LeaseBeforeGiveBack  Name = "lease.beforeGiveBack"
	LeaseGivenBack       Name = "lease.givenBack"

	// The way of a change through the log.
	LogTaken     Name = "log.taken"
	LogCommitted Name = "log.committed"
	LogPublished Name = "log.published"
	LogAnswered  Name = "log.answered"

	// Other moments in the life of a session.
	SessionAdmitted     Name = "session.admitted"
	SessionCreated      Name = "session.created"
	SessionTakingUp     Name = "session.takingUp"
	SessionRemembered   Name = "session.remembered"
	SessionSettling     Name = "session.settling"
	SessionBeforeExpiry Name = "session.beforeExpiry"
	SessionExpired      Name = "session.expired"
	SessionHandingOver  Name = "session.handingOver"
	SessionReleasing    Name = "session.releasing"
	SessionLeft         Name = "session.left"
	SessionRemoving     Name = "session.removing"

	// The agent of a session.
	AgentOpening  Name = "agent.opening"
	AgentOpened   Name = "agent.opened"
	AgentPrompted Name = "agent.prompted"
	AgentReturned Name = "agent.returned"
	AgentClosing  Name = "agent.closing"
	AgentClosed   Name = "agent.closed"

	// What our own tools do.
	ToolBeforeRun    Name = "tool.beforeRun"
	ToolRan          Name = "tool.ran"
	ToolBeforeFiles  Name = "tool.beforeFiles"
	ToolFilesChanged Name = "tool.filesChanged"

	// The supervisor of a command or an agent, as its server sees it.
	SandboxBeforeSpawn  Name = "sandbox.beforeSpawn"
	SandboxSpawned      Name = "sandbox.spawned"
	SandboxOrdered      Name = "sandbox.ordered"
	SandboxCommandEnded Name = "sandbox.commandEnded"
	SandboxProcessRuns  Name = "sandbox.processRuns"

	// What people want of an execution.
	WishBeforePrompt    Name = "wish.beforePrompt"
	WishPromptWritten   Name = "wish.promptWritten"
	WishBeforeEnd       Name = "wish.beforeEnd"
	WishEndWritten      Name = "wish.endWritten"
	WishBeforeResume    Name = "wish.beforeResume"
	WishResumeWritten   Name = "wish.resumeWritten"
	WishBeforeAnswer    Name = "wish.beforeAnswer"
	WishAnswerWritten   Name = "wish.answerWritten"
	WishBeforeDecision  Name = "wish.beforeDecision"
	WishDecisionWritten Name = "wish.decisionWritten"

	// What was done and is not answered yet.
	HTTPCreated   Name = "http.created"
	HTTPDecided   Name = "http.decided"
	HTTPPrompted  Name = "http.prompted"
	HTTPCancelled Name = "http.cancelled"
	HTTPClosed    Name = "http.closed"
	HTTPResumed   Name = "http.resumed"
	HTTPAnswered  Name = "http.answered"
	HTTPDeleted   Name = "http.deleted"

	// The end of a server in good order.
	ServerDraining Name = "server.draining"
	ServerDrained  Name = "server.drained"
)

var table = []Name{
	StoreTakeKeys, StoreCreateExecutions, StoreCreateHeads, StoreResolveApprovals, StoreTakeHeads, StoreAdmitPrompts,
	StoreAdmitResumes, StoreAdmitAnswers, StoreAdmitAcceptances, StoreMovePrompts, StoreLoseNothing, StoreAppendEvents,
	StoreTellWebhooks, StoreAppendFeed, StoreUpdateExecutions, StoreAskApprovals, StoreRememberRules, StoreCountHits,
	StoreAskClients, StoreCloseClients, StoreKeepAnswers, StoreCancelClients, StoreAddGenerations,
	StoreAcceptGenerations, StoreCancelGenerations, StoreQueuePrompts, StoreKeepWishes, StoreAppendDebug,
	StoreAppendAudit,
	StoreBeforeCommit, StoreCommitted, StoreBeforePlain, StorePlainCommitted,
	MigrateBegin, MigrateStatementsDone, MigrateFileDone, MigrateDone,
	KeysBeforeFile, KeysBeforeRename, KeysFileWritten, KeysCreated,
	LeaseBeforeHeartbeat, LeaseRenewed, LeaseBeforeSetAside, LeaseSetAside, LeaseBeforeClaim, LeaseClaimed, LeaseBeforeRelease, LeaseReleased,
	LeaseBeforeGiveBack, LeaseGivenBack,
	LogTaken, LogCommitted, LogPublished, LogAnswered,
	SessionAdmitted, SessionCreated, SessionTakingUp, SessionRemembered, SessionSettling, SessionBeforeExpiry,
	SessionExpired, SessionHandingOver, SessionReleasing, SessionLeft, SessionRemoving,
	AgentOpening, AgentOpened, AgentPrompted, AgentReturned, AgentClosing, AgentClosed,
	ToolBeforeRun, ToolRan, ToolBeforeFiles, ToolFilesChanged,
	SandboxBeforeSpawn, SandboxSpawned, SandboxOrdered, SandboxCommandEnded, SandboxProcessRuns,
	WishBeforePrompt, WishPromptWritten, WishBeforeEnd, WishEndWritten, WishBeforeResume, WishResumeWritten,
	WishBeforeAnswer, WishAnswerWritten, WishBeforeDecision, WishDecisionWritten,
	HTTPCreated, HTTPDecided, HTTPPrompted, HTTPCancelled, HTTPClosed, HTTPResumed, HTTPAnswered, HTTPDeleted,
	ServerDraining, ServerDrained,
}

// events are those around whose commit a session may die. Each has a name before and one after; see [Before] and [After].
var events = []string{
	"execution.initializing", "execution.interrupted", "execution.ended", "agent.started",
	"turn.started", "turn.continued", "turn.ended", "message.delta",
	"toolCall.requested", "toolCall.started", "toolCall.updated", "toolCall.completed",
	"approval.requested", "approval.resolved",
}

// before and after hold the names of the events.
var before, after = around("before."), around("after.")

func around(moment string) map[string]Name {
	names := map[string]Name{}
	for _, event := range events {
		names[event] = Name(moment + event)
	}
	return names
}

// Before is the moment at which a session is about to commit an event: who dies there has done nothing. An event around which nobody
// dies has no name, and Hit ignores that.
func Before(event string) Name { return before[event] }

// After is the moment at which a session has committed an event, before anybody who waits for it is answered: who dies there has done
// it, and told nobody.
func After(event string) Name { return after[event] }

// All lists the names.
func All() []Name {
	all := slices.Clone(table)
	for _, event := range events {
		all = append(all, before[event], after[event])
	}
	return all
}
