// Package deploy_test holds the manifests to what the server needs and to what must never ship. It reads them as their
// tools would, so a broken indent fails here and not in a cluster.
package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type object = map[string]any

// documents reads all YAML documents of a file.
func documents(t *testing.T, path string) []object {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var docs []object
	decoder := yaml.NewDecoder(f)
	for {
		var doc object
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		docs = append(docs, doc)
	}
}

// at walks into a document: names for objects, numbers for lists. It fails the test where there is nothing.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		var next any
		switch step := step.(type) {
		case string:
			m, _ := v.(object)
			next = m[step]
		case int:
			list, _ := v.([]any)
			if step < len(list) {
				next = list[step]
			}
		}
		if next == nil {
			t.Fatalf("nothing at %v", path[:i+1])
		}
		v = next
	}
	return v
}

func number(t *testing.T, v any) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(fmt.Sprint(v), &n); err != nil {
		t.Fatalf("%v is not a number", v)
	}
	return n
}

// manifests returns every Kubernetes object by "Kind/name".
func manifests(t *testing.T) map[string]object {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	found := map[string]object{}
	for _, file := range files {
		for _, doc := range documents(t, file) {
			if doc["apiVersion"] == nil || doc["kind"] == nil {
				t.Errorf("%s: neither apiVersion nor kind", file)
			}
			name := "-"
			if doc["kind"] != "Kustomization" {
				name = at(t, doc, "metadata", "name").(string)
			}
			key := fmt.Sprintf("%s/%s", doc["kind"], name)
			if found[key] != nil {
				t.Errorf("%s: a second %s", file, key)
			}
			found[key] = doc
		}
	}
	return found
}

// pods returns the specs of all pods by the object that makes them.
func pods(t *testing.T) map[string]any {
	t.Helper()
	specs := map[string]any{}
	for key, doc := range manifests(t) {
		switch doc["kind"] {
		case "Deployment", "Job":
			specs[key] = at(t, doc, "spec", "template", "spec")
		case "Pod":
			specs[key] = at(t, doc, "spec")
		}
	}
	if len(specs) != 3 {
		t.Errorf("%d kinds of pods, want 3: the service, its migration, the pod for keys", len(specs))
	}
	return specs
}

func TestPodsAreLocked(t *testing.T) {
	for name, pod := range pods(t) {
		context := at(t, pod, "securityContext")
		if at(t, context, "runAsNonRoot") != true || number(t, at(t, context, "runAsUser")) == 0 {
			t.Errorf("%s may run as root", name)
		}
		at(t, context, "seccompProfile", "type")
		if at(t, pod, "automountServiceAccountToken") != false {
			t.Errorf("%s has a token of the cluster", name)
		}
		// With them, Kubernetes sets SIGNOFF_PORT and its like, which are no settings of ours.
		if at(t, pod, "enableServiceLinks") != false {
			t.Errorf("%s gets service links", name)
		}
		for _, container := range at(t, pod, "containers").([]any) {
			own := at(t, container, "securityContext")
			if at(t, own, "allowPrivilegeEscalation") != false || at(t, own, "readOnlyRootFilesystem") != true ||
				fmt.Sprint(at(t, own, "capabilities", "drop")) != "[ALL]" || own.(object)["privileged"] != nil {
				t.Errorf("%s: %v", name, own)
			}
			at(t, container, "resources", "requests", "memory")
			at(t, container, "resources", "limits", "memory")
			if image := at(t, container, "image"); image != "signoff" {
				t.Errorf("%s runs %v: the version belongs into kustomization.yaml alone", name, image)
			}
			writable := map[string]bool{}
			for _, mount := range at(t, container, "volumeMounts").([]any) {
				writable[at(t, mount, "mountPath").(string)] = mount.(object)["readOnly"] != true
			}
			if !writable["/data"] || !writable["/tmp"] {
				t.Errorf("%s: the root is read-only and /data or /tmp are too", name)
			}
		}
	}
}

func TestDeployment(t *testing.T) {
	deployment := manifests(t)["Deployment/signoff"]
	if n := number(t, at(t, deployment, "spec", "replicas")); n < 2 {
		t.Errorf("%d replicas", n)
	}
	pod := at(t, deployment, "spec", "template", "spec")
	server := at(t, pod, "containers", 0)
	for probe, path := range map[string]string{
		"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/healthz",
	} {
		get := at(t, server, probe, "httpGet")
		if at(t, get, "path") != path || at(t, get, "port") != "http" {
			t.Errorf("%s: %v", probe, get)
		}
		if at(t, get, "httpHeaders", 0, "name") != "Host" || at(t, get, "httpHeaders", 0, "value") != "localhost" {
			t.Errorf("%s calls with a Host that the server refuses: %v", probe, get)
		}
	}

	settings := at(t, manifests(t)["ConfigMap/signoff"], "data").(object)
	grace := number(t, at(t, pod, "terminationGracePeriodSeconds"))
	drain := number(t, settings["SIGNOFF_DRAIN_SECONDS"])
	delay := number(t, settings["SIGNOFF_DRAIN_DELAY_SECONDS"])
	if grace <= drain+delay || delay < 5 {
		t.Errorf("killed after %d s, but stopping takes %d s + %d s", grace, delay, drain)
	}

	// What the sandbox needs comes together or not at all.
	if at(t, pod, "hostUsers") != false || at(t, server, "securityContext", "procMount") != "Unmasked" {
		t.Error("hostUsers and procMount do not go together")
	}
	profile := at(t, pod, "securityContext", "seccompProfile", "localhostProfile").(string)
	if _, err := os.Stat(profile); err != nil {
		t.Errorf("the seccomp profile: %v", err)
	}
}

func TestSettingsAreKnown(t *testing.T) {
	known := []string{
		"SIGNOFF_ADDR", "SIGNOFF_DATA_DIR", "SIGNOFF_DATABASE_URL", "SIGNOFF_CONFIG", "SIGNOFF_WORKSPACE_ROOT",
		"SIGNOFF_SANDBOX", "SIGNOFF_LOG_LEVEL", "SIGNOFF_DRAIN_SECONDS", "SIGNOFF_DRAIN_DELAY_SECONDS", "SIGNOFF_ALLOWED_HOSTS",
		"SIGNOFF_MAX_LIVE", "SIGNOFF_PARK_SECONDS",
	}
	check := func(where, name string) {
		if !slices.Contains(known, name) {
			t.Errorf("%s sets %s, which the server does not know", where, name)
		}
	}
	for name := range at(t, manifests(t)["ConfigMap/signoff"], "data").(object) {
		check("the config map", name)
	}
	for name, pod := range pods(t) {
		for _, variable := range at(t, pod, "containers", 0, "env").([]any) {
			check(name, at(t, variable, "name").(string))
		}
	}
	for name := range at(t, compose(t), "x-signoff", "environment").(object) {
		check("compose", name)
	}
}

func TestNamesFit(t *testing.T) {
	all := manifests(t)
	kustomization := all["Kustomization/-"]
	for _, file := range at(t, kustomization, "resources").([]any) {
		if _, err := os.Stat(filepath.Join("kubernetes", file.(string))); err != nil {
			t.Error(err)
		}
	}
	if at(t, kustomization, "images", 0, "name") != "signoff" {
		t.Error("kustomization.yaml names an image that nothing runs")
	}
	for key, doc := range all {
		if doc["kind"] != "Service" && doc["kind"] != "PodDisruptionBudget" {
			continue
		}
		selector := at(t, doc, "spec", "selector").(object)
		if inner, ok := selector["matchLabels"].(object); ok {
			selector = inner
		}
		labels := at(t, all["Deployment/signoff"], "spec", "template", "metadata", "labels").(object)
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("%s selects %s=%v, which the deployment's pods do not have", key, name, value)
			}
		}
	}
}

func compose(t *testing.T) object {
	t.Helper()
	docs := documents(t, "../docker-compose.yml")
	if len(docs) != 1 {
		t.Fatalf("%d documents", len(docs))
	}
	return docs[0]
}

func TestCompose(t *testing.T) {
	doc := compose(t)
	services := at(t, doc, "services").(object)
	for _, name := range []string{"postgres", "migrate", "replica-1", "replica-2"} {
		at(t, services, name)
	}
	for _, name := range []string{"replica-1", "replica-2"} {
		for _, port := range at(t, services, name, "ports").([]any) {
			if !strings.HasPrefix(port.(string), "127.0.0.1:") {
				t.Errorf("%s publishes %v to everybody", name, port)
			}
		}
		if at(t, services, name, "depends_on", "migrate", "condition") != "service_completed_successfully" {
			t.Errorf("%s does not wait for the migration", name)
		}
		if at(t, services, name, "read_only") != true || fmt.Sprint(at(t, services, name, "cap_drop")) != "[ALL]" {
			t.Errorf("%s is not locked", name)
		}
	}
	if postgres := at(t, services, "postgres").(object); postgres["ports"] != nil {
		t.Errorf("Postgres is published: %v", postgres["ports"])
	}
	common := at(t, doc, "x-signoff")
	var grace int
	if _, err := fmt.Sscanf(at(t, common, "stop_grace_period").(string), "%ds", &grace); err != nil {
		t.Fatal(err)
	}
	drain := number(t, at(t, common, "environment", "SIGNOFF_DRAIN_SECONDS"))
	if delay := number(t, at(t, common, "environment", "SIGNOFF_DRAIN_DELAY_SECONDS")); grace <= drain+delay || delay < 5 {
		t.Errorf("killed after %d s, but stopping takes %d s + %d s", grace, delay, drain)
	}
	options := fmt.Sprint(at(t, common, "security_opt"))
	if !strings.Contains(options, "no-new-privileges:true") || strings.Contains(options, "seccomp=unconfined") {
		t.Errorf("security_opt: %v", options)
	}
	if !strings.Contains(options, "seccomp=./deploy/seccomp-sandbox.json") {
		t.Errorf("security_opt lacks the profile: %v", options)
	}
}

func TestNoPasswordShips(t *testing.T) {
	postgres := at(t, compose(t), "services", "postgres", "environment", "POSTGRES_PASSWORD").(string)
	url := at(t, compose(t), "x-signoff", "environment", "SIGNOFF_DATABASE_URL").(string)
	for _, value := range []string{postgres, url} {
		if !strings.Contains(value, "${POSTGRES_PASSWORD:?") {
			t.Errorf("does not insist on a password of the operator's own: %s", value)
		}
	}
	for key, doc := range manifests(t) {
		if doc["kind"] != "Secret" {
			continue
		}
		for name, value := range at(t, doc, "stringData").(object) {
			if value != "REPLACE_ME" {
				t.Errorf("%s ships a value for %s", key, name)
			}
		}
	}
}

func TestDockerfile(t *testing.T) {
	content, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	user, workdir, installs := "", "", ""
	for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "FROM":
			stages = append(stages, words[len(words)-1])
			if image := words[1]; strings.Contains(image, ":latest") {
				t.Errorf("%s moves by itself", image)
			}
		case "USER":
			user = words[1]
		case "WORKDIR":
			workdir = words[1]
		case "RUN":
			installs += line
		case "ADD":
			t.Errorf("ADD does more than it says: %s", line)
		}
	}
	if user != "10001:10001" {
		t.Errorf("the last USER is %q", user)
	}
	if workdir != "/etc/signoff" {
		t.Errorf("./signoff.yaml would be read from %s: an agent must not be able to write it", workdir)
	}
	if stages[len(stages)-1] != "runtime" || !slices.Contains(stages, "runtime-node") {
		t.Errorf("stages: %v", stages)
	}
	for _, tool := range []string{"bash", "bubblewrap", "ca-certificates", "git"} {
		if !strings.Contains(installs, " "+tool+" ") {
			t.Errorf("%s is not installed", tool)
		}
	}
}

// TestSeccompProfile checks the profile for the fields that Docker and the Kubernetes runtimes share, so that one file
// serves both.
func TestSeccompProfile(t *testing.T) {
	content, err := os.ReadFile("seccomp-sandbox.json")
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		DefaultAction   string `json:"defaultAction"`
		DefaultErrnoRet int    `json:"defaultErrnoRet"`
		Architectures   []string
		Syscalls        []struct {
			Comment string   `json:"comment"`
			Names   []string `json:"names"`
			Action  string   `json:"action"`
			Args    []struct {
				Index uint   `json:"index"`
				Value uint64 `json:"value"`
				Op    string `json:"op"`
			} `json:"args"`
		} `json:"syscalls"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&profile); err != nil {
		t.Fatal(err)
	}
	if profile.DefaultAction != "SCMP_ACT_ERRNO" || profile.DefaultErrnoRet != 38 {
		t.Errorf("what is not named is answered with %s %d, want ENOSYS", profile.DefaultAction, profile.DefaultErrnoRet)
	}
	// A call by the numbers of an architecture that is not listed kills its thread, where it should be refused.
	if !slices.Contains(profile.Architectures, "SCMP_ARCH_X32") || !slices.Contains(profile.Architectures, "SCMP_ARCH_AARCH64") {
		t.Errorf("architectures: %v", profile.Architectures)
	}
	allowed := map[string]bool{} // true when for all arguments
	for _, rule := range profile.Syscalls {
		if rule.Action != "SCMP_ACT_ALLOW" {
			t.Errorf("%v: %s", rule.Names, rule.Action)
		}
		for _, name := range rule.Names {
			if allowed[name] {
				t.Errorf("%s twice", name)
			}
			allowed[name] = len(rule.Args) == 0
		}
	}
	for _, name := range []string{
		"clone", "unshare", "mount", "umount2", "pivot_root", "seccomp", "landlock_restrict_self",
		"open_tree", "move_mount", "mount_setattr", "fsopen", "fsconfig", "fsmount",
	} {
		if !allowed[name] {
			t.Errorf("the sandbox needs %s", name)
		}
	}
	for _, name := range []string{
		"bpf", "perf_event_open", "kexec_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "setns",
		"add_key", "request_key", "io_uring_setup", "userfaultfd", "open_by_handle_at", "ptrace", "process_vm_readv",
		"fspick", "iopl", "ioperm", "settimeofday", "clock_settime", "syslog",
	} {
		if _, found := allowed[name]; found {
			t.Errorf("%s is allowed", name)
		}
	}
	for _, name := range []string{"socket", "keyctl", "personality"} {
		if allowed[name] {
			t.Errorf("%s is allowed whatever its arguments", name)
		}
	}
}
