package sessions

import (
	"context"

	"signoff/internal/domain"
)

// longestChain is how many executions that went on with one agent session are read.
const longestChain = 100

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
