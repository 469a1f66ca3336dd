package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/sandbox"
)

func TestLoadHasBounds(t *testing.T) {
	for name, values := range map[string][]string{
		"SIGNOFF_PARK_SECONDS":          {"0", "86401", "-1"},
		"SIGNOFF_MAX_LIVE":              {"0", "100001"},
		"SIGNOFF_MAX_LIVE_PER_TENANT":   {"-1", "100001"},
		"SIGNOFF_RETENTION_DAYS":        {"-1", "3651", "1.5"},
		"SIGNOFF_MAX_EVENTS":            {"0", "999", "1000000001"},
		"SIGNOFF_MAX_QUEUED":            {"-1", "1000001"},
		"SIGNOFF_MAX_QUEUED_PER_TENANT": {"-1", "1000001", "many"},
		"SIGNOFF_MAX_GENERATIONS":       {"-1", "1001"},
		"SIGNOFF_GENERATION_SECONDS":    {"0", "3601"},
		"SIGNOFF_MAX_COMMANDS":          {"-1", "10001", "some"},
	} {
		for _, value := range values {
			t.Run(name+"="+value, func(t *testing.T) {
				t.Setenv(name, value)
				if _, err := readConfig(); err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

func TestLoadAsSessionsHearOfIt(t *testing.T) {
	t.Run("defaults", func(t *testing.T) {
		c, err := readConfig()
		want := dispatch.Limits{
			Live: 1000, Queued: 10_000, QueuedPerTenant: 1000, Events: 2_000_000, Commands: sandbox.Commands(), Generations: 10, GenerationWindow: 10 * time.Second,
		}
		if err != nil || c.limits() != want || c.parkAfter() != time.Minute {
			t.Errorf("%+v, %s, %v", c.limits(), c.parkAfter(), err)
		}
	})
	t.Run("no queue", func(t *testing.T) {
		t.Setenv("SIGNOFF_MAX_QUEUED", "0")
		t.Setenv("SIGNOFF_MAX_QUEUED_PER_TENANT", "0")
		c, err := readConfig()
		if l := c.limits(); err != nil || l.Queued != dispatch.NoQueue || l.QueuedPerTenant != dispatch.NoQueue {
			t.Errorf("%+v, %v", l, err)
		}
	})
	t.Run("any number of generations", func(t *testing.T) {
		t.Setenv("SIGNOFF_MAX_GENERATIONS", "0")
		c, err := readConfig()
		if l := c.limits(); err != nil || l.Generations != dispatch.NoLimit {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

func TestUnknownVariables(t *testing.T) {
	for _, name := range []string{"SIGNOFF_DATABASE_URL", "SIGNOFF_MAX_QUEUED_PER_TENANT", "SIGNOFF_TOKEN", "SIGNOFF_URL", "SIGNOFF_TEST_OF_OURS", "SIGNOFF_MAX_QUEUE"} {
		t.Setenv(name, "1")
	}
	if unknown, err := unknownVariables(); err != nil || !slices.Equal(unknown, []string{"SIGNOFF_MAX_QUEUE"}) {
		t.Error(unknown, err)
	}
}
