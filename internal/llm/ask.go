package llm

import (
	"context"
	"errors"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// ask gets one whole answer, from the first model that can give one.
func (t *turn) ask(ctx context.Context) (provider.Answer, *message, error) {
	t.attempt = 0
	models := &t.agent.models
	for {
		got, said, err := t.askModel(ctx)
		var trouble *provider.Error
		if !errors.As(err, &trouble) {
			return got, said, err
		}
		if !trouble.Elsewhere() || models.last() {
			return provider.Answer{}, nil, models.gaveUp(trouble)
		}
		from := models.asked().model.Name
		models.lost = append(models.lost, lost{name: from, why: trouble.Shown})
		err = t.host.Emit(ctx, domain.ModelSwitched{
			From: from, To: models.asked().model.Name, Code: trouble.Shown.Code, Message: trouble.Shown.Message,
		})
		if err != nil {
			return provider.Answer{}, nil, err
		}
	}
}
