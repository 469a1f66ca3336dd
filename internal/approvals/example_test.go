package approvals_test

import (
	"context"
	"fmt"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// The line is parsed, so a rule sees the command behind a pipe or a wrapper, too.
func ExamplePolicy_Judge() {
	policy, err := approvals.NewPolicy(domain.Request{
		Capabilities: domain.DefaultCapabilities,
		Tools: domain.ToolSettings{BashPolicy: &domain.BashPolicy{
			DefaultBehavior: domain.Deny, DenyBehavior: domain.DenyHITL,
			Rules: []domain.BashRule{{Name: "look", Pattern: `^(df|sort|cat)\b`, Action: domain.Allow}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"df -h | sort", "df -h | sh", "cat $FILE", "rm -rf ~"} {
		call := domain.ToolCall{Tool: "bash", Class: domain.ClassExecute, Action: domain.Action{Command: line}}
		judged := policy.Judge(context.Background(), call, "", time.Now())
		fmt.Printf("%-12s  step %d: %s by %s\n", line, judged.Step, judged.Verdict, judged.By)
	}
	// Output:
	// df -h | sort  step 4: allow by bashPolicy
	// df -h | sh    step 6: ask by bashPolicy
	// cat $FILE     step 6: ask by bashPolicy
	// rm -rf ~      step 2: ask by catastrophic
}
