package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/sandbox"
	"signoff/internal/sessions"
)

// openEnvironments checks the operator's environments, and finds out which of them this machine can build.
func (f configFile) openEnvironments(config Config, box *sandbox.Sandbox, workspace string) (*environments.Catalog, error) {
	data, err := filepath.Abs(config.DataDir)
	if err != nil {
		return nil, usageError{err}
	}
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real
	}
	catalog, err := environments.New(environments.Config{
		Default: f.Environments.Default, Definitions: f.Environments.Definitions, Networks: f.Networks, Data: data,
	}, thisMachine{})
	if err != nil {
		return nil, f.mistake(err)
	}
	catalog.Limit(workspace, box.Offers)
	return catalog, nil
}

// guide tells models of the environments.
type guide struct{ *environments.Guide }

func newGuide(catalog *environments.Catalog, box *sandbox.Sandbox) guide {
	return guide{environments.NewGuide(catalog, box)}
}

// Reader implements [sessions.Guide].
func (g guide) Reader(e domain.Environment, dir string, hosts []string) sessions.OutputReader {
	return g.Guide.Reader(e, dir, hosts)
}

// thisMachine is the machine that the server runs on.
type thisMachine struct{}

// Real implements [environments.Machine].
func (thisMachine) Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Reads implements [environments.Machine]. Where modes and access lists leave a doubt, the user reads.
func (thisMachine) Reads(name, folder string) (bool, error) {
	who, err := user.Lookup(name)
	if err != nil {
		return false, err
	}
	groups, err := who.GroupIds()
	if err != nil {
		return false, err
	}
	if who.Uid == "0" {
		return true, nil
	}
	for ; ; folder = filepath.Dir(folder) {
		enters, err := mayEnter(who.Uid, groups, folder)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // the server makes it, for itself alone
		}
		if err != nil || !enters {
			return false, err
		}
		if folder == "/" {
			return true, nil
		}
	}
}

// mayEnter reports whether a user may open what lies in a folder.
func mayEnter(uid string, groups []string, folder string) (bool, error) {
	var stat unix.Stat_t
	if err := unix.Stat(folder, &stat); err != nil {
		return false, err
	}
	lists, err := unix.Getxattr(folder, "system.posix_acl_access", nil)
	hasList := err == nil && lists > 0
	switch {
	case strconv.Itoa(int(stat.Uid)) == uid:
		return stat.Mode&unix.S_IXUSR != 0, nil
	case hasList || slices.Contains(groups, strconv.Itoa(int(stat.Gid))): // with an access list, the group's bits bound those of all who are named
		return stat.Mode&(unix.S_IXGRP|unix.S_IXOTH) != 0, nil
	default:
		return stat.Mode&unix.S_IXOTH != 0, nil
	}
}

// describe says in a line what an environment shows, for the operator.
func describe(e domain.Environment) string {
	var parts []string
	switch e.View {
	case domain.ViewHost:
		who := e.User
		if e.AsServer {
			who = "the server's own user, who can approve its own calls"
		}
		return "without isolation, as " + who
	case domain.ViewMachine:
		parts = append(parts, "the workspace; "+strings.Join(sandbox.MachineFolders, ", ")+", read-only")
	default:
		parts = append(parts, "the workspace")
	}
	for _, mount := range e.Mounts {
		parts = append(parts, fmt.Sprintf("%s (%s)", mount.Path, mount.Access))
	}
	if e.Processes == domain.ProcessesHost {
		parts = append(parts, "the processes of the host")
	}
	for _, network := range e.Networks {
		parts = append(parts, "the network "+network.Name)
	}
	for _, variable := range slices.Sorted(maps.Keys(e.Files)) {
		parts = append(parts, "the file of "+variable)
	}
	return strings.Join(parts, "; ")
}
