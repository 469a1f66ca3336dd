package environments

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// machine is a machine with some folders, links and users.
type machine struct {
	real  map[string]string // path → path without links; what is not in it does not exist
	reads map[string]bool   // user → can it read the data folder
}

func (m machine) Real(path string) (string, error) {
	if real, exists := m.real[path]; exists {
		return real, nil
	}
	return "", errors.New("no such file")
}

func (m machine) Reads(user, _ string) (bool, error) {
	reads, known := m.reads[user]
	if !known {
		return false, errors.New("no such user")
	}
	return reads, nil
}

var here = machine{
	real: map[string]string{
		"/etc":     "/etc",
		"/srv/app": "/srv/app", "/srv/app/log": "/srv/app/log", "/srv": "/srv", "/var/log/app": "/var/log/app", "/data/reports": "/data/reports",
		"/etc/signoff/readonly.kubeconfig": "/etc/signoff/readonly.kubeconfig", "/var/lib/signoff": "/var/lib/signoff",
		"/var/lib/signoff/blobs": "/var/lib/signoff/blobs", "/var/lib": "/var/lib", "/innocent": "/var/lib/signoff", "/lent": "/var/lib/signoff/token",
	},
	reads: map[string]bool{"operator": false, "nosy": true},
}

func catalog(t *testing.T, config Config) *Catalog {
	t.Helper()
	config.Data = "/var/lib/signoff"
	c, err := New(config, here)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var corp = map[string]NetworkDefinition{
	"corp": {Hosts: []string{"api.corp.example", "*.svc.cluster.local"}, CIDRs: []string{"10.20.0.0/16"}, Ports: []int{6443, 443, 443}},
}

var app = Definition{
	Mounts: map[string]string{"/srv/app": "write", "/var/log/app": "read"}, Processes: "host", Network: []string{"corp"},
	Files: map[string]string{"KUBECONFIG": "/etc/signoff/readonly.kubeconfig"},
}

func TestBuiltInEnvironments(t *testing.T) {
	c := catalog(t, Config{})
	var names []string
	for _, info := range c.All() {
		names = append(names, info.Name)
		if info.Default != (info.Name == "workspace") || !info.Available {
			t.Errorf("%+v", info)
		}
	}
	if !slices.Equal(names, []string{"machine", "workspace"}) {
		t.Fatal(names)
	}
	workspace, err := c.Choose(domain.EnvironmentChoice{})
	if err != nil || workspace.Name != "workspace" || workspace.ShowsMore() || workspace.Risk() != domain.ViewWorkspace {
		t.Errorf("%+v %v", workspace, err)
	}
	machine, err := c.Choose(domain.EnvironmentChoice{Name: "machine"})
	if err != nil || machine.View != domain.ViewMachine || !machine.ShowsMore() {
		t.Errorf("%+v %v", machine, err)
	}
	if workspace.Digest() == machine.Digest() {
		t.Error("two environments have one digest")
	}
}

// Each definition has one mistake, which the error must point at.
func TestMistakesInDefinitions(t *testing.T) {
	for at, config := range map[string]Config{
		"/environments/default":                {Default: "none"},
		"/environments/2x":                     {Definitions: map[string]Definition{"2x": {}}},
		"/environments/x/isolation":            {Definitions: map[string]Definition{"x": {Isolation: "some"}}},
		"/environments/x/view":                 {Definitions: map[string]Definition{"x": {View: "all"}}},
		"/environments/x/processes":            {Definitions: map[string]Definition{"x": {Processes: "all"}}},
		"/environments/x/mounts":               {Definitions: map[string]Definition{"x": {Isolation: "none", User: "operator", Mounts: map[string]string{"/srv": "read"}}}},
		"/environments/x/network":              {Definitions: map[string]Definition{"x": {Isolation: "none", User: "operator", Network: []string{"corp"}}}},
		"/environments/x/user":                 {Definitions: map[string]Definition{"x": {Isolation: "none"}}},
		"/environments/y/user":                 {Definitions: map[string]Definition{"y": {Isolation: "none", User: "nobodyKnows"}}},
		"/environments/z/user":                 {Definitions: map[string]Definition{"z": {Isolation: "none", User: "nosy"}}},
		"/environments/i/user":                 {Definitions: map[string]Definition{"i": {User: "nosy"}}},
		"/environments/x/asServer":             {Definitions: map[string]Definition{"x": {Isolation: "none", User: "operator", AsServer: true}}},
		"/environments/i/asServer":             {Definitions: map[string]Definition{"i": {AsServer: true}}},
		"/environments/x/allow":                {Definitions: map[string]Definition{"x": {Isolation: "none", AsServer: true, Allow: []string{"^ls"}}}},
		"/environments/i/allow":                {Definitions: map[string]Definition{"i": {Allow: []string{"^ls"}}}},
		"/environments/x/allow/1":              {Definitions: map[string]Definition{"x": {Isolation: "none", User: "operator", Allow: []string{"^ls", "("}}}},
		"/environments/i/env":                  {Definitions: map[string]Definition{"i": {Env: []string{"PATH"}}}},
		"/environments/x/env/0":                {Definitions: map[string]Definition{"x": {Isolation: "none", User: "operator", Env: []string{"SIGNOFF_TOKEN"}}}},
		"/environments/x/show/0":               {Definitions: map[string]Definition{"x": {Show: []string{"/missing"}}}},
		"/environments/r/show/0":               {Definitions: map[string]Definition{"r": {Show: []string{"relative"}}}},
		"/environments/d/show/0":               {Definitions: map[string]Definition{"d": {Show: []string{"/var/lib/signoff"}}}},
		"/environments/b/show/0":               {Definitions: map[string]Definition{"b": {Show: []string{"/var/lib/signoff/blobs"}}}},
		"/environments/u/show/0":               {Definitions: map[string]Definition{"u": {Show: []string{"/var/lib"}}}},
		"/environments/l/show/0":               {Definitions: map[string]Definition{"l": {Show: []string{"/innocent"}}}},
		"/environments/x/mounts/~1":            {Definitions: map[string]Definition{"x": {Mounts: map[string]string{"/": "write"}}}},
		"/environments/x/mounts/~1run~1docker": {Definitions: map[string]Definition{"x": {Mounts: map[string]string{"/run/docker": "read"}}}},
		"/environments/x/mounts/~1srv~1app":    {Definitions: map[string]Definition{"x": {Mounts: map[string]string{"/srv/app": "execute"}}}},
		"/environments/o/mounts/~1srv~1app":    {Definitions: map[string]Definition{"o": {Show: []string{"/srv"}, Mounts: map[string]string{"/srv/app": "write"}}}},
		"/environments/w/mounts/~1etc":         {Definitions: map[string]Definition{"w": {Mounts: map[string]string{"/etc": "write"}}}},
		"/environments/h/mounts/~1srv~1app":    {Definitions: map[string]Definition{"h": {Mounts: map[string]string{"/srv/app": "read"}, Hide: []string{"/srv"}}}},
		"/environments/x/hide/0":               {Definitions: map[string]Definition{"x": {Hide: []string{"../secret"}}}},
		"/environments/x/network/0":            {Definitions: map[string]Definition{"x": {Network: []string{"corp"}}}},
		"/environments/x/files/2X":             {Definitions: map[string]Definition{"x": {Files: map[string]string{"2X": "/srv/app"}}}},
		"/environments/x/files/KUBECONFIG":     {Definitions: map[string]Definition{"x": {Files: map[string]string{"KUBECONFIG": "/missing"}}}},
		"/environments/d/files/KUBECONFIG":     {Definitions: map[string]Definition{"d": {Files: map[string]string{"KUBECONFIG": "/lent"}}}},
		"/networks/2x":                         {Networks: map[string]NetworkDefinition{"2x": {}}},
		"/networks/x":                          {Networks: map[string]NetworkDefinition{"x": {CIDRs: []string{"10.0.0.0/8"}}}},
		"/networks/x/hosts/1":                  {Networks: map[string]NetworkDefinition{"x": {Hosts: []string{"a.example", "*"}}}},
		"/networks/x/hosts/0":                  {Networks: map[string]NetworkDefinition{"x": {Hosts: []string{"a b"}}}},
		"/networks/x/cidrs/0":                  {Networks: map[string]NetworkDefinition{"x": {Hosts: []string{"a.example"}, CIDRs: []string{"10.0.0.0"}}}},
		"/networks/b/cidrs/0":                  {Networks: map[string]NetworkDefinition{"b": {Hosts: []string{"a.example"}, CIDRs: []string{"10.1.0.0/8"}}}},
		"/networks/w/cidrs/0":                  {Networks: map[string]NetworkDefinition{"w": {Hosts: []string{"a.example"}, CIDRs: []string{"fc00::/7"}}}},
		"/networks/l/cidrs/0":                  {Networks: map[string]NetworkDefinition{"l": {Hosts: []string{"a.example"}, CIDRs: []string{"127.0.0.0/8"}}}},
		"/networks/x/ports/0":                  {Networks: map[string]NetworkDefinition{"x": {Hosts: []string{"a.example"}, Ports: []int{0}}}},
	} {
		config.Data = "/var/lib/signoff"
		_, err := New(config, here)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != domain.CodeInvalid || len(coded.Details) != 1 || coded.Details[0].Pointer != at {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestNarrowing(t *testing.T) {
	c := catalog(t, Config{Default: "app", Definitions: map[string]Definition{"app": app, "host": {Isolation: "none", User: "operator"}}, Networks: corp})
	whole, err := c.Choose(domain.EnvironmentChoice{})
	if err != nil {
		t.Fatal(err)
	}
	narrowed, err := c.Choose(domain.EnvironmentChoice{
		Name: "app", ReadOnly: true, Mounts: []string{"/srv/app"}, Hosts: []string{"*.db.svc.cluster.local", "api.corp.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := whole
	want.ReadOnly = true
	want.Mounts = []domain.Mount{{Path: "/srv/app", Access: domain.AccessRead}}
	want.Networks = []domain.Network{{
		Name: "corp", Hosts: []string{"*.db.svc.cluster.local", "api.corp.example"}, CIDRs: whole.Networks[0].CIDRs, Ports: []uint16{443, 6443},
	}}
	if diff := cmp.Diff(want.Digest(), narrowed.Digest()); diff != "" {
		t.Errorf("%+v\n%+v", want, narrowed)
	}
	if again, err := c.Choose(domain.EnvironmentChoice{}); err != nil || again.Digest() != whole.Digest() {
		t.Error("a request has changed the definition")
	}
	for at, choice := range map[string]domain.EnvironmentChoice{
		"/environment":          {Name: "other"},
		"/environment/mounts/1": {Mounts: []string{"/srv/app", "/srv"}},
		"/environment/hosts/0":  {Hosts: []string{"*.cluster.local"}},
		"/environment/hosts/1":  {Hosts: []string{"api.corp.example", "evil.example"}},
	} {
		_, err := c.Choose(choice)
		var coded *domain.Error
		if !errors.As(err, &coded) || len(coded.Details) != 1 || coded.Details[0].Pointer != at {
			t.Errorf("%s: %v", at, err)
		}
	}
	if _, err := c.Choose(domain.EnvironmentChoice{Name: "host", ReadOnly: true}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Error(err)
	}
}

// Whatever a request asks for, it gets no mount, no right and no host that the definition does not have.
func TestARequestOnlyNarrows(t *testing.T) {
	c := catalog(t, Config{Definitions: map[string]Definition{"app": app}, Networks: corp})
	whole, err := c.Choose(domain.EnvironmentChoice{Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"api.corp.example", "*.svc.cluster.local", "a.svc.cluster.local", "*.x.svc.cluster.local", "*.local", "evil.example", "*"}
	rapid.Check(t, func(t *rapid.T) {
		choice := domain.EnvironmentChoice{Name: "app", ReadOnly: rapid.Bool().Draw(t, "readOnly")}
		if rapid.Bool().Draw(t, "fewer mounts") {
			choice.Mounts = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"/srv/app", "/var/log/app", "/srv", "/etc"}), rapid.ID[string]).Draw(t, "mounts")
		}
		if rapid.Bool().Draw(t, "fewer hosts") {
			choice.Hosts = rapid.SliceOfDistinct(rapid.SampledFrom(hosts), rapid.ID[string]).Draw(t, "hosts")
		}
		got, err := c.Choose(choice)
		if err != nil {
			return
		}
		for _, mount := range got.Mounts {
			if !slices.ContainsFunc(whole.Mounts, func(m domain.Mount) bool {
				return m.Path == mount.Path && (m.Access == mount.Access || mount.Access == domain.AccessRead)
			}) || choice.ReadOnly && mount.Access == domain.AccessWrite {
				t.Fatalf("mount %+v", mount)
			}
		}
		for _, network := range got.Networks {
			for _, host := range network.Hosts {
				if !strings.HasSuffix(host, ".svc.cluster.local") && host != "api.corp.example" {
					t.Fatalf("host %s", host)
				}
			}
		}
	})
}

func TestUnavailable(t *testing.T) {
	c := catalog(t, Config{})
	c.Limit("/work", func(domain.Environment, string) error { return errors.New("the kernel has no user namespaces") })
	if _, err := c.Choose(domain.EnvironmentChoice{}); err != nil {
		t.Error("the workspace is refused, although its file tools work:", err)
	}
	if _, err := c.Choose(domain.EnvironmentChoice{Name: "machine"}); domain.CodeOf(err) != domain.CodeEnvironmentUnavailable {
		t.Error(err)
	}
	if info := c.All()[0]; info.Available || *info.Reason != "The kernel has no user namespaces." {
		t.Errorf("%+v", info)
	}
}
