package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// console prints the link that opens the console in a browser, and nothing else to standard output, so that a shell can pass it on:
// xdg-open "$(signoff console)".
func console(_ context.Context, args []string, std stdio) error {
	set := flags("console", std)
	address := set.String("url", "", "where a browser reaches the server, like https://signoff.example; without it, SIGNOFF_ADDR says so")
	if err := parse(set, args); err != nil {
		return err
	}
	config, err := readConfig()
	if err != nil {
		return err
	}
	base, err := config.reachedAt(*address)
	if err != nil {
		return err
	}
	token, err := config.firstToken(base)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, consoleLink(base, token))
	return err
}

// consoleLink has the token in its fragment, the part of a URL that a browser never sends.
func consoleLink(base, token string) string { return base + "/#token=" + token }

// reachedAt is the beginning of the link: the given URL, or the address on which the server listens.
func (c Config) reachedAt(given string) (string, error) {
	if given != "" {
		return origin(given)
	}
	host, port, err := net.SplitHostPort(c.Addr)
	switch {
	case err != nil: // unreachable: the configuration was validated
		return "", err
	case zoned(host):
		return "", usagef("no browser opens an address with a zone, like %s. Say by which other one it is reached: signoff console --url http://HOST:%s", host, port)
	case port == "" || strings.Trim(port, "0") == "":
		return "", usagef("SIGNOFF_ADDR leaves the port to the machine; the server prints which one it took. Say it: signoff console --url http://127.0.0.1:PORT")
	}
	return "http://" + net.JoinHostPort(dialable(host), port), nil
}

// origin reads an address that a person has typed.
func origin(typed string) (string, error) {
	u, err := url.Parse(typed)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}) ||
		strings.Trim(u.Path, "/") != "" || !isHost(u.Hostname()) || zoned(u.Hostname()) || u.Port() != "" && !isPort(u.Port()) {
		return "", usagef("--url is http:// or https:// and a host, with a port where it needs one, not %q", typed)
	}
	return u.Scheme + "://" + u.Host, nil
}

// dialable is the host itself, or the loopback for a host that stands for all addresses.
func dialable(host string) string {
	address, err := netip.ParseAddr(host)
	switch {
	case host == "" || err == nil && address == netip.IPv4Unspecified():
		return "127.0.0.1"
	case err == nil && address == netip.IPv6Unspecified():
		return "::1"
	}
	return host
}

// firstToken reads the token of the first start.
func (c Config) firstToken(base string) (string, error) {
	content, err := os.ReadFile(c.tokenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no token at %s; the first start of a server on an address like 127.0.0.1 leaves one there.\n"+
			"Any other key works as well: open %s in a browser, and paste one that signoff keys create has printed", c.tokenFile(), base)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds no token", c.tokenFile())
	}
	return token, nil
}
