package failpoint

import (
	"slices"
	"strings"
)

// Name is a moment at which a server may die: before.EVENT or after.EVENT.
type Name string

// Event is the name without the moment, such as store.commit.
func (n Name) Event() string {
	_, event, _ := strings.Cut(string(n), ".")
	return event
}

// Names are made here alone, and each stands in one place of the code.
var (
	// The steps of a batch, in their order.
	BeforeTakeKeys             = before("store.takeKeys")
	BeforeTakeRates            = before("store.takeRates")
	BeforeCreateExecutions     = before("store.createExecutions")
	BeforeCreateHeads          = before("store.createHeads")
	BeforeResolveApprovals     = before("store.resolveApprovals")
	BeforeTakeHeads            = before("store.takeHeads")
	BeforeCreateChildren       = before("store.createChildren")
	BeforeAdmitPrompts         = before("store.admitPrompts")
	BeforeAdmitResumes         = before("store.admitResumes")
	BeforeAdmitAnswers         = before("store.admitAnswers")
	BeforeAdmitAcceptances     = before("store.admitAcceptances")
	BeforeUseFiles             = before("store.useFiles")
	BeforeMovePrompts          = before("store.movePrompts")
	BeforeRefuseLosses         = before("store.refuseLosses")
	BeforeRestChildren         = before("store.restChildren")
	BeforeAppendEvents         = before("store.appendEvents")
	BeforeInsertDeliveries     = before("store.insertDeliveries")
	BeforeAppendFeed           = before("store.appendFeed")
	BeforeUpdateExecutions     = before("store.updateExecutions")
	BeforeAskApprovals         = before("store.askApprovals")
	BeforeKeepPins             = before("store.keepPins")
	BeforeRememberRules        = before("store.rememberRules")
	BeforeCountHits            = before("store.countHits")
	BeforeAskClients           = before("store.askClients")
	BeforeCloseClients         = before("store.closeClients")
	BeforeStoreAnswers         = before("store.storeAnswers")
	BeforeCancelClients        = before("store.cancelClients")
	BeforeAddGenerations       = before("store.addGenerations")
	BeforeAcceptGenerations    = before("store.acceptGenerations")
	BeforeCancelGenerations    = before("store.cancelGenerations")
	BeforeEndRollbacks         = before("store.endRollbacks")
	BeforeQueuePrompts         = before("store.queuePrompts")
	BeforeWriteControlRequests = before("store.writeControlRequests")
	BeforeKeepStates           = before("store.keepStates")
	BeforeKeepPaused           = before("store.keepPaused")
	BeforeAppendDebug          = before("store.appendDebug")
	BeforeAppendAudit          = before("store.appendAudit")

	// Every transaction of the server. A batch of plain changes on Postgres is one statement, with names of its own.
	BeforeCommit      = before("store.commit")
	AfterCommit       = after("store.commit")
	BeforePlainCommit = before("store.plainCommit")
	AfterPlainCommit  = after("store.plainCommit")

	// The schema, and each file of it.
	BeforeMigration       = before("migrate.schema")
	BeforeMigrationCommit = before("migrate.fileCommit")
	AfterMigrationCommit  = after("migrate.fileCommit")
	AfterMigration        = after("migrate.schema")

	// The first token: the file comes before the key.
	BeforeTokenFile   = before("keys.writeToken")
	BeforeTokenRename = before("keys.renameToken")
	AfterTokenFile    = after("keys.writeToken")
	AfterTokenKey     = after("keys.createKey")

	// The lease of a replica, and the executions that it drives.
	BeforeRenewal          = before("lease.renew")
	AfterRenewal           = after("lease.renew")
	BeforeSetAside         = before("lease.setAside")
	AfterSetAside          = after("lease.setAside")
	BeforeAcquire          = before("lease.acquire")
	AfterAcquire           = after("lease.acquire")
	BeforeRelease          = before("lease.release")
	AfterRelease           = after("lease.release")
	BeforeReleaseExecution = before("lease.releaseExecution")
	AfterReleaseExecution  = after("lease.releaseExecution")

	// A batch of changes on its way through the log.
	BeforeBatch  = before("log.commit")
	AfterBatch   = after("log.commit")
	AfterPublish = after("log.publish")
	AfterAnswer  = after("log.answer")

	// A session, beside the events around which it may die: see [Before].
	BeforeCreation       = before("session.create")
	AfterCreation        = after("session.create")
	BeforeRecovery       = before("session.recover")
	AfterRecovery        = after("session.recover")
	BeforeDecision       = before("session.decision")
	BeforeExpiry         = before("session.expire")
	AfterExpiry          = after("session.expire")
	BeforeHandOff        = before("session.handOff")
	BeforeSessionRelease = before("session.release")
	AfterSession         = after("session.drive")
	BeforeRemoval        = before("session.remove")

	// The agent of a session.
	BeforeAgentOpen   = before("agent.open")
	AfterAgentOpen    = after("agent.open")
	BeforeAgentPrompt = before("agent.prompt")
	AfterAgentPrompt  = after("agent.prompt")
	BeforeAgentClose  = before("agent.close")
	AfterAgentClose   = after("agent.close")

	// The tools of the internal agent.
	BeforeToolRun    = before("tool.run")
	AfterToolRun     = after("tool.run")
	BeforeFileChange = before("tool.changeFiles")
	AfterFileChange  = after("tool.changeFiles")

	// A request to a tool of an MCP server.
	BeforeMCPCall = before("mcp.call")
	AfterMCPCall  = after("mcp.call")

	// The supervisor of a command or an agent, as its server sees it.
	BeforeSpawn       = before("sandbox.spawn")
	AfterSpawn        = after("sandbox.spawn")
	AfterStartOrder   = after("sandbox.orderStart")
	AfterCommand      = after("sandbox.command")
	AfterProcessStart = after("sandbox.startProcess")

	// A control request of a client.
	BeforePromptRequest   = before("request.prompt")
	AfterPromptRequest    = after("request.prompt")
	BeforeEndRequest      = before("request.end")
	AfterEndRequest       = after("request.end")
	BeforeResumeRequest   = before("request.resume")
	AfterResumeRequest    = after("request.resume")
	BeforeAnswerRequest   = before("request.answer")
	AfterAnswerRequest    = after("request.answer")
	BeforeDecisionRequest = before("request.decide")
	AfterDecisionRequest  = after("request.decide")

	// A request that was carried out, and whose answer was not sent yet.
	AfterHTTPCreate = after("http.create")
	AfterHTTPDecide = after("http.decide")
	AfterHTTPPrompt = after("http.prompt")
	AfterHTTPCancel = after("http.cancel")
	AfterHTTPClose  = after("http.close")
	AfterHTTPResume = after("http.resume")
	AfterHTTPAnswer = after("http.answer")
	AfterHTTPDelete = after("http.delete")

	// A checkpoint of the folders of an execution.
	BeforeCheckpoint = before("checkpoint.take")
	AfterCheckpoint  = after("checkpoint.take")
	BeforeRestore    = before("checkpoint.restore")
	AfterRestore     = after("checkpoint.restore")
	BeforeTakeAside  = before("checkpoint.takeAside")
	AfterTakeAside   = after("checkpoint.takeAside")
	AfterDrop        = after("checkpoint.drop")

	// The orderly end of a server.
	BeforeDrain = before("server.drain")
	AfterDrain  = after("server.drain")
)

// committed are the events around whose commit a session may die.
var committed = []string{
	"execution.initializing", "execution.interrupted", "execution.ended", "agent.started",
	"turn.started", "turn.continued", "turn.ended", "message.delta",
	"toolCall.requested", "toolCall.started", "toolCall.updated", "toolCall.completed",
	"approval.requested", "approval.resolved", "delegate.started", "delegate.returned",
	"checkpoint.created",
}

var beforeEvent, afterEvent = each(before), each(after)

// Before is the moment at which a session is about to commit an event. It is empty, and Hit ignores it, for an event around whose commit
// no session dies.
func Before(event string) Name { return beforeEvent[event] }

// After is the moment at which a session has committed an event and has answered nobody who waits for it.
func After(event string) Name { return afterEvent[event] }

// All lists the names.
func All() []Name { return slices.Clone(all) }

// all is filled while the names are made.
var all []Name

func before(event string) Name { return add("before." + event) }
func after(event string) Name  { return add("after." + event) }

func add(name string) Name {
	all = append(all, Name(name))
	return Name(name)
}

func each(moment func(event string) Name) map[string]Name {
	names := map[string]Name{}
	for _, event := range committed {
		names[event] = moment(event)
	}
	return names
}
