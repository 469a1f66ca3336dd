package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/sandbox"
)

// inspect shows what a command would see in an environment, one line for each thing.
func (d *diagnosis) inspect(ctx context.Context, config Config, file configFile, name, directory string) error {
	files, err := file.openWorkspace(config)
	if err != nil {
		return err
	}
	box, err := sandbox.New(ctx, config.sandboxConfig(nil))
	if err != nil {
		return err
	}
	catalog, err := file.openEnvironments(config, box, files.Root())
	if err != nil {
		return err
	}
	all := catalog.All()
	i := slices.IndexFunc(all, func(e domain.EnvironmentInfo) bool { return e.Name == name })
	if i < 0 {
		_, err := catalog.Defined(name)
		return usageError{errors.New(sentence(err.(*domain.Error)))} //nolint:errorlint,forcetypeassert // as it is documented
	}
	e, dir := all[i], cmp.Or(directory, files.Root())
	d.good("environment", fmt.Sprintf("%s, %s (digest %.12s)", name, risks[e.Risk], e.Digest))
	seen, err := box.Inspect(e.Environment, dir)
	if err != nil {
		d.bad("not available", err)
		return errors.New("this machine cannot build the environment " + name)
	}
	d.user(e.Environment, seen)
	d.folders(box, e.Environment, dir, seen)
	d.hosts(e.Environment)
	d.processes(e.Environment)
	d.lent(e.Environment)
	d.programs(ctx, box, e.Environment, dir)
	return nil
}

var risks = map[domain.View]string{
	domain.ViewWorkspace: "which shows the workspace", domain.ViewMachine: "which shows parts of this machine", domain.ViewHost: "which has no isolation: the host",
}

func (d *diagnosis) user(e domain.Environment, seen sandbox.Inspection) {
	switch {
	case e.AsServer:
		d.note("user", "the server's own. Its commands can approve their own calls")
	case seen.User != "":
		d.good("user", seen.User)
	case os.Geteuid() == 0:
		d.note("user", "root, as the server, without capabilities; file modes do not hold for it")
	default:
		d.good("user", "the server's own")
	}
	for _, path := range seen.Mapped {
		d.good("owner", path+" belongs to "+seen.User+" inside; what is made in it belongs to its owner outside")
	}
}

func (d *diagnosis) folders(box *sandbox.Sandbox, e domain.Environment, dir string, seen sandbox.Inspection) {
	if e.View == domain.ViewHost {
		d.note("files", "all that the user may read and write; the working directory is "+dir)
		return
	}
	may := map[domain.Access]string{domain.AccessRead: "read", domain.AccessWrite: "read and write"}
	workspace := domain.AccessWrite
	if e.ReadOnly {
		workspace = domain.AccessRead
	}
	d.good(may[workspace], dir+", the working directory")
	for _, mount := range box.Folders(e) {
		d.good(may[mount.Access], mount.Path)
	}
	d.good("read", "the programs of the system in /usr, and some settings of /etc")
	d.good("own", "/tmp, /dev/shm, /run: empty at its start")
	for _, path := range seen.Hidden {
		d.good("hidden", path)
	}
	for _, path := range seen.Unsearched {
		d.note("not searched", path+": private keys in it are covered only by their file modes. Name the folders with keys in hide")
	}
	if e.ShowsMore() {
		d.good("sockets", "none of this machine")
	}
}

func (d *diagnosis) hosts(e domain.Environment) {
	if e.View == domain.ViewHost {
		d.note("hosts", "all that this machine reaches, the server itself included")
		return
	}
	d.good("hosts", "public ones that a call is granted, by the proxy")
	for _, network := range e.Networks {
		ports := strings.Trim(fmt.Sprint(network.Ports), "[]")
		for _, host := range network.Hosts {
			how := "by its name, and by the proxy"
			if strings.HasPrefix(host, "*.") || net.ParseIP(host) != nil {
				how = "by the proxy"
			}
			d.good("host", fmt.Sprintf("%s of %s, ports %s, %s", host, network.Name, ports, how))
		}
		for _, cidr := range network.CIDRs {
			d.good("addresses", fmt.Sprintf("%s, where hosts of %s lead there", cidr, network.Name))
		}
	}
}

func (d *diagnosis) processes(e domain.Environment) {
	switch {
	case e.View == domain.ViewHost:
		d.note("processes", "those of this machine")
	case e.Processes == domain.ProcessesHost:
		d.good("processes", "its own; ps, top and pgrep show those of this machine, with masked arguments")
	default:
		d.good("processes", "its own")
	}
}

func (d *diagnosis) lent(e domain.Environment) {
	for _, variable := range slices.Sorted(maps.Keys(e.Files)) {
		d.good("lent", variable+" is "+e.Files[variable])
	}
	for _, variable := range e.Variables {
		d.good("variable", variable+" of the server")
	}
}

func (d *diagnosis) programs(ctx context.Context, box *sandbox.Sandbox, e domain.Environment, dir string) {
	found, err := box.Find(ctx, e, dir, environments.WellKnown)
	if err != nil {
		d.note("programs", "nobody could look: "+err.Error())
		return
	}
	d.good("programs", cmp.Or(strings.Join(found, ", "), "none of those that runbooks speak of"))
	missing := slices.DeleteFunc(slices.Clone(environments.WellKnown), func(program string) bool { return slices.Contains(found, program) })
	d.note("programs missing", cmp.Or(strings.Join(missing, ", "), "none"))
}

// insteadOfOff are the lines that replace SIGNOFF_SANDBOX=off for a server of this user.
func insteadOfOff(uid int) string {
	host := "host: {isolation: none, user: operator}  # a user who cannot read the data folder"
	if uid != 0 {
		host = "host: {isolation: none, asServer: true}  # its commands can approve their own calls"
	}
	return "      environments:\n        default: host\n        " + host
}
