package main

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/admission"
	"signoff/internal/domain"
)

// runbook is an entry of the section runbooks: the model of executions that name none.
type runbook struct {
	Model     string   `yaml:"model"`
	Fallbacks []string `yaml:"fallbacks"`
}

var runbookIDs = regexp.MustCompile(`^([A-Za-z0-9._-]{1,200}|[A-Za-z0-9._-]{0,199}\*)$`)

const mostFallbacks = 10 // of a request, too

// openRunbooks returns the models of runbooks. Each of them must be among the known ones: an entry that names no model would be found out only
// by the first execution of its runbook.
func (f configFile) openRunbooks(known []string) ([]admission.RunbookModel, error) {
	var entries []admission.RunbookModel
	for _, id := range slices.Sorted(maps.Keys(f.Runbooks)) {
		entry := f.Runbooks[id]
		if err := checkRunbook(id, entry, known); err != nil {
			return nil, f.mistake(err)
		}
		entries = append(entries, admission.RunbookModel{Runbook: id, Model: entry.Model, Fallbacks: entry.Fallbacks})
	}
	return entries, nil
}

func checkRunbook(id string, entry runbook, known []string) error {
	switch {
	case !runbookIDs.MatchString(id):
		return domain.Invalid(domain.Pointer("runbooks", id), "%q is not the id of a runbook; an id has up to 200 letters, digits, dots, hyphens and underscores, "+
			"and a * may stand at its end", id)
	case entry.Model == "":
		return domain.Invalid(domain.Pointer("runbooks", id, "model"), "the runbook %s has no model", id)
	case len(entry.Fallbacks) > mostFallbacks:
		return domain.Invalid(domain.Pointer("runbooks", id, "fallbacks"), "the runbook %s has %d fallbacks; at most %d are allowed", id, len(entry.Fallbacks), mostFallbacks)
	}
	for i, model := range append([]string{entry.Model}, entry.Fallbacks...) {
		if slices.Contains(known, model) {
			continue
		}
		at := domain.Pointer("runbooks", id, "model")
		if i > 0 {
			at = domain.Pointer("runbooks", id, "fallbacks", strconv.Itoa(i-1))
		}
		return domain.Invalid(at, "there is no model %q; there are: %s", model, strings.Join(known, ", "))
	}
	return nil
}
