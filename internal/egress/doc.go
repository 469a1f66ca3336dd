// Package egress decides where the server may connect to on behalf of a model, and connects there.
//
// # Model
//
// A host that a model, a web page or a command names is hostile: it may be the database beside us, our own API on the
// loopback, or the metadata service of a cloud, which hands out keys to whoever can reach it. Two questions stand
// between the name and the connection:
//
//   - Is the host granted? [Covers] answers by its name, before the name is resolved: a resolver that is asked for
//     <secret>.example.com has carried the secret out already.
//   - Is the address public? [Public] answers by the address that is being connected to, at each dial. A name says
//     nothing about where it leads, and may lead elsewhere by the time that it is asked for again (DNS rebinding).
//
// A [Dialer] asks both. It is where an http.Transport gets its connections, and where the proxy of package sandbox does.
//
// # Promises
//
//   - No connection is made to an address that is private, loopback, link-local, multicast, reserved, or this machine's
//     own, in whatever notation, and also not where it is wrapped in an IPv6 address (mapped, 6to4, NAT64).
//   - No name is resolved that no pattern covers.
//   - A refusal is a *domain.Error with the code destinationBlocked, whose message can be shown to a model.
//
// # Limits of this package
//
// A host that is granted is trusted with what is sent there. Which certificate it shows is the business of who speaks TLS
// through the connection. A network may translate public-looking IPv6 addresses to private ones by a prefix of its own
// (NAT64); only the well-known prefixes are seen through.
package egress
