package e2e

import (
	"testing"
)

// scene is one story of an execution with an external agent.
type scene struct {
	agent string // of the cast
	play  func(v *visit)
}

// scenes by name.
type scenes map[string]scene

// TestExternalAgents plays all scenes in one house for each engine, side by side.
func TestExternalAgents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		h := newHouse(t, e, cast(), "MY_AGENT_KEY="+secret, "TOOL_KEY="+toolSecret)
		h.section("mcpServers", object{
			"tools":  object{"command": "/bin/true", "args": []string{"serve"}, "env": []string{"TOOL_KEY"}},
			"remote": object{"url": "https://tools.example/mcp"},
		})
		h.start()
		for group, scenes := range map[string]scenes{
			"registry": registryScenes, "talk": talkScenes, "permissions": permissionScenes, "questions": questionScenes,
			"hands": handScenes, "cancel": cancelScenes, "turns": turnScenes, "debug": debugScenes, "ends": endScenes,
		} {
			t.Run(group, func(t *testing.T) {
				t.Parallel()
				for name, scene := range scenes {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						scene.play(h.visit(t, scene.agent))
					})
				}
			})
		}
	})
}

const (
	secret     = "hunter2-of-the-agent"
	toolSecret = "hunter2-of-the-tool"
)

// cast are the agents of the scenes, by what is special about them.
func cast() map[string]object {
	with := func(args ...string) object { return object{"args": args} }
	script := func(lines string) object { return with("-script", lines) }
	return map[string]object{
		"scripted":    {"description": "Does what it is told."},
		"private":     {"home": "private"},
		"forgetful":   with("-no-load"),
		"resuming":    with("-resume"),
		"late":        with("-replay", "after"),
		"modal":       with("-modes", "ask,code", "-models", "small,large", "-config", "plain"),
		"choosy":      with("-modes", "ask,code", "-models", "small,large", "-config", "effort", "-forget"),
		"curious":     with("-modes", "ask,code", "-models", "small,large", "-config", "effort"),
		"unheard":     with("-modes", "ask,code", "-models", "small,large", "-config", "plain"),
		"oldfashion":  with("-modes", "ask,code", "-models", "small,large"),
		"preset":      {"args": []string{"-modes", "code,ask"}, "mode": "ask"},
		"handy":       {"fileSystem": true, "terminal": true},
		"impatient":   {"silentAfterSeconds": 1},
		"secretive":   {"env": []string{"MY_AGENT_KEY"}},
		"missing":     {"command": "no-such-program-anywhere"},
		"disabled":    {"enabled": false},
		"locked":      with("-auth", "browser"),
		"ancient":     with("-protocol", "2"),
		"stillborn":   script("initialize: stderr no licence\ninitialize: crash 4"),
		"homeless":    script("new: stderr no room\nnew: crash 5"),
		"amnesiac":    script("load: stderr no memory\nload: crash 6"),
		"speechless":  script("prompt: stderr no words\nprompt: crash 7"),
		"slow":        {"args": []string{"-hang", "initialize"}, "startTimeoutSeconds": 1},
		"refusing":    with("-load-fails"),
		"unmountable": with("-mcp", "sse"),
	}
}
