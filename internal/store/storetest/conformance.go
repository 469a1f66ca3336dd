package storetest

import (
	"testing"
)

// Run is the contract of the store as tests. Every engine passes all of it.
func Run(t *testing.T, open Replicas) {
	for _, test := range []struct {
		name string
		run  func(w *world)
	}{
		{"a change is read back as it was written", roundTrip},
		{"an update overwrites what it names and nothing else", updateOnlyWhatIsNamed},
		{"concurrent appends leave no hole", concurrentAppends},
		{"a reader in the middle of writes sees no hole", readerSeesNoHole},
		{"a stale epoch writes nothing", staleEpoch},
		{"epoch 0 rings the bell", bell},
		{"a refused change leaves nothing and disturbs nobody", refusedInBatch},
		{"a broken batch is an error", brokenBatch},
		{"a cancelled caller has written nothing", cancelledCaller},
		{"one decision wins", oneDecisionWins},
		{"expiry goes by database time", expiry},
		{"a resolution names its own execution", foreignResolution},
		{"the first wishes stand", firstWishesStand},
		{"wishes are read at one moment", wishesAtOneMoment},
		{"an interrupted execution is resumed once", resume},
		{"of those who choose at once one decides", oneChoiceStands},
		{"a prompt is read back as it was written", promptRoundTrip},
		{"prompts wait in order", promptOrder},
		{"prompts are refused where they cannot be taken", promptRefusals},
		{"a hundred prompts wait at most", promptsAreBounded},
		{"no prompt is lost", noPromptIsLost},
		{"a prompt is started or discarded once", promptsMoveOnce},
		{"a prompt and the end do not pass each other by", promptsAgainstTheEnd},
		{"of prompts that do not wait one gets the turn", onlyOneTurnIsFree},
		{"an idempotency key takes one prompt in", promptOnce},
		{"raw messages are read back as they were written", debugRoundTrip},
		{"pages of raw messages are bounded", debugPages},
		{"the newest raw messages stay", debugIsTrimmed},
		{"raw messages are the driver's", debugIsTheDrivers},
		{"raw messages of many writers are numbered", debugAtOnce},
		{"an agent's session is kept", agentSession},
		{"an idempotency key creates once", idempotentCreate},
		{"the same key is free for another tenant", keyPerTenant},
		{"a cursor past the end gives nothing", pastTheEnd},
		{"pages are stable while rows are added", stablePages},
		{"a foreign cursor is malformed", malformedCursors},
		{"filters choose", filters},
		{"two claimers never get the same", claimers},
		{"a claim gives a new epoch and counts", claimCounts},
		{"a replica can ask what it owns", owned},
		{"a heartbeat keeps claimers away", heartbeats},
		{"a replica without a lease claims nothing", claimWithoutLease},
		{"release gives back", release},
		{"heads come in one query", heads},
		{"delete takes all along and refuses the living", deletes},
		{"a writer and a delete do not deadlock", deleteUnderWrite},
		{"batches of several replicas do not deadlock", crossingBatches},
		{"tenants never see each other", tenants},
		{"a terminal status never changes", terminal},
		{"every status of the domain can be stored", statuses},
		{"text survives byte for byte", bytesSurvive},
		{"large batches are cut into statements", largeBatch},
		{"keys", keys},
		{"sequence and epoch follow the model", model},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newWorld(t, open)) })
	}
}
