package domain

import "regexp"

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ParseExecutionID reads the id of an execution. Text that cannot be an id is [CodeNotFound], like an id that nobody has, so that the database
// is not asked for it.
func ParseExecutionID(text string) (ExecutionID, error) {
	if !uuidText.MatchString(text) {
		return "", Errorf(CodeNotFound, "There is no such execution.")
	}
	return ExecutionID(text), nil
}
