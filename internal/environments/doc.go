// Package environments holds the operator's environments: what the commands and file tools of an execution see of the machine.
//
// # Model
//
// The operator writes a [Definition] per name into signoff.yaml, and names private networks beside them. Two environments are built in:
//
//   - workspace shows the working directory and the programs of the system. It is the default.
//   - machine shows /etc, /opt, /srv and /var/log besides, read-only, without the files in them that hold secrets ([SecretFiles]).
//
// A definition of the same name replaces a built-in one. A definition with isolation: none is a host environment: its commands run
// without isolation. Nothing but the operator's file makes one.
//
// [New] checks all definitions when the server starts. A [Catalog] then gives each request its [domain.Environment]: the definition, narrowed by
// the request's [domain.EnvironmentChoice].
//
// # Promises
//
//   - A request never gets more than the definition shows: a path or host that the definition does not have is an error.
//   - A mistake in a definition is found when the server starts, and points at its place in the file.
//   - The server's data folder is in no environment. A definition that mounts it, or a folder above it, is refused.
//   - Two servers with the same definitions give the same digest, whatever else differs between their machines.
//
// # Limits of this package
//
// It decides what an environment is. Package sandbox builds it, and says whether this machine can ([Catalog.Limit]).
package environments
