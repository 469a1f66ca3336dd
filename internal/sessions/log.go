package sessions

import (
	"context"

	"signoff/internal/domain"
)

// eventPage is how many events of a log are read at once.
const eventPage = 500

// eachEvent reads a log page by page, to its end or to the first error of take.
func eachEvent(ctx context.Context, logs Store, id domain.ExecutionID, take func(domain.Event) error) error {
	for after := int64(0); ; {
		limited, cancel := context.WithTimeout(ctx, readTimeout)
		page, err := logs.Events(limited, id, after, eventPage)
		cancel()
		if err != nil {
			return err
		}
		for _, event := range page {
			if err := take(event); err != nil {
				return err
			}
		}
		if len(page) < eventPage {
			return nil
		}
		after = page[len(page)-1].Seq
	}
}

// replay applies the log from its beginning, and the result takes the place of the session's progress. It tells whether an error
// means that the log is broken. It keeps no page: a million events would be hundreds of megabytes.
func (r *recorder) replay(transcript *domain.Transcript) (broken bool, err error) {
	progress := domain.NewProgress()
	folded := []domain.Folded{progress}
	if transcript != nil {
		folded = append(folded, transcript)
	}
	err = eachEvent(r.claim.lease, r.engine.store, r.execution.ID, func(event domain.Event) error {
		err := event.ApplyTo(folded...)
		broken = err != nil
		return err
	})
	if err != nil {
		return broken, err
	}
	*r.progress, r.transcript = *progress, transcript
	return false, nil
}

// readTranscript reads what was said, for an agent that does not know it.
func (r *recorder) readTranscript() error {
	transcript := domain.NewTranscript()
	if err := eachEvent(r.claim.lease, r.engine.store, r.execution.ID, transcript.Apply); err != nil {
		return err
	}
	r.transcript = transcript
	return nil
}
