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

	// What a session is about to commit.
	BeforeInitializing  Name = "sessionBefore.initializing"
	BeforeAgentStarted  Name = "sessionBefore.agentStarted"
	BeforeTurnStarted   Name = "sessionBefore.turnStarted"
	BeforeTurnContinued Name = "sessionBefore.turnContinued"
	BeforeText          Name = "sessionBefore.text"
	BeforeCallRequested Name = "sessionBefore.callRequested"
	BeforeAsked         Name = "sessionBefore.asked"
	BeforeResolved      Name = "sessionBefore.resolved"
	BeforeToolStarted   Name = "sessionBefore.toolStarted"
	BeforeToolOutput    Name = "sessionBefore.toolOutput"
	BeforeToolCompleted Name = "sessionBefore.toolCompleted"
	BeforeTurnEnded     Name = "sessionBefore.turnEnded"
	BeforeInterrupted   Name = "sessionBefore.interrupted"
	BeforeEnded         Name = "sessionBefore.ended"

	// What a session has committed, before anybody who waits for it is answered.
	AfterInitializing  Name = "sessionAfter.initializing"
	AfterAgentStarted  Name = "sessionAfter.agentStarted"
	AfterTurnStarted   Name = "sessionAfter.turnStarted"
	AfterTurnContinued Name = "sessionAfter.turnContinued"
	AfterText          Name = "sessionAfter.text"
	AfterCallRequested Name = "sessionAfter.callRequested"
	AfterAsked         Name = "sessionAfter.asked"
	AfterResolved      Name = "sessionAfter.resolved"
	AfterToolStarted   Name = "sessionAfter.toolStarted"
	AfterToolOutput    Name = "sessionAfter.toolOutput"
	AfterToolCompleted Name = "sessionAfter.toolCompleted"
	AfterTurnEnded     Name = "sessionAfter.turnEnded"
	AfterInterrupted   Name = "sessionAfter.interrupted"
	AfterEnded         Name = "sessionAfter.ended"

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
	BeforeInitializing, BeforeAgentStarted, BeforeTurnStarted, BeforeTurnContinued, BeforeText, BeforeCallRequested,
	BeforeAsked, BeforeResolved, BeforeToolStarted, BeforeToolOutput, BeforeToolCompleted, BeforeTurnEnded,
	BeforeInterrupted, BeforeEnded,
	AfterInitializing, AfterAgentStarted, AfterTurnStarted, AfterTurnContinued, AfterText, AfterCallRequested,
	AfterAsked, AfterResolved, AfterToolStarted, AfterToolOutput, AfterToolCompleted, AfterTurnEnded, AfterInterrupted,
	AfterEnded,
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

// All lists the names.
func All() []Name { return slices.Clone(table) }
