package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// Bounds of the lists of resources and prompts.
const (
	maxListed      = 1000
	maxListedBytes = 1 << 20
)

// Resource is something that a server offers to read.
type Resource struct {
	URI         string // as the server wrote it: it is read by it
	Template    bool   // URI is a template: what stands in braces has to be filled in (RFC 6570)
	Name        string
	Title       string
	Description string
	MediaType   string
	Size        int64 // 0: the server does not say
}

// Resources lists what the server offers to read: its resources, and then its templates of resources.
func (s *Session) Resources(ctx context.Context, server string) ([]Resource, error) {
	var all []Resource
	if declares, err := s.declares(ctx, server, func(c *sdk.ServerCapabilities) bool { return c.Resources != nil }); !declares {
		return nil, err
	}
	take := func(raw json.RawMessage) {
		var sent struct {
			URI, URITemplate, Name, Title, Description, MIMEType string
			Size                                                 float64
		}
		if json.Unmarshal(raw, &sent) != nil {
			return
		}
		if uri := cmp.Or(sent.URI, sent.URITemplate); uri != "" && len(uri) <= maxURLBytes {
			all = append(all, Resource{
				uri, sent.URI == "", wire.Line(sent.Name, maxNameBytes), wire.Line(sent.Title, maxNameBytes), wire.Line(sent.Description, wire.MaxMessageBytes),
				wire.Line(sent.MIMEType, maxNameBytes), int64(sent.Size),
			})
		}
	}
	err := s.listed(ctx, server, "resources/list", func(ctx context.Context, c *connection, cursor string) error {
		_, err := c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		return err
	}, "resources", take)
	if err != nil {
		return nil, err
	}
	err = s.listed(ctx, server, "resources/templates/list", func(ctx context.Context, c *connection, cursor string) error {
		_, err := c.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		return err
	}, "resourceTemplates", take)
	var coded *jsonrpc.Error
	if errors.As(err, &coded) && coded.Code == jsonrpc.CodeMethodNotFound { // many servers have resources and no templates
		err = nil
	}
	return all, err
}

// Read reads a resource of the server.
func (s *Session) Read(ctx context.Context, server, uri string) (Result, error) {
	raw, err := s.ask(ctx, server, "resources/read", func(ctx context.Context, c *connection) error {
		_, err := c.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		return err
	})
	if err != nil {
		return Result{}, err
	}
	var sent struct {
		Type     string     `json:"resultType"`
		Contents []contents `json:"contents"`
	}
	if json.Unmarshal(raw, &sent) != nil || sent.Type != "" && sent.Type != resultComplete {
		return Result{}, domain.Errorf(domain.CodeToolFailed, "The answer of the MCP server %q is not the contents of a resource.", server)
	}
	reading := &reading{}
	for _, one := range sent.Contents {
		reading.resource(&one)
	}
	return Result{Text: strings.Join(reading.text, "\n"), Files: reading.files}, nil
}

// declares reports whether the server says that it has something. One that does not say so is not asked: many answer that with an error.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/lifecycle#capabilities
func (s *Session) declares(ctx context.Context, server string, has func(*sdk.ServerCapabilities) bool) (bool, error) {
	l, err := s.link(server)
	if err != nil {
		return false, err
	}
	c, err := l.connected(ctx)
	if err != nil {
		return false, err
	}
	capabilities := c.session.InitializeResult().Capabilities
	return capabilities != nil && has(capabilities), nil
}

// listed reads a list of the server, page by page.
func (s *Session) listed(ctx context.Context, server, method string, send func(context.Context, *connection, string) error, field string, take func(json.RawMessage)) error {
	count, size := 0, 0
	return s.notRead(server, pages(func(cursor string) (next string, err error) {
		raw, err := s.ask(ctx, server, method, func(ctx context.Context, c *connection) error { return send(ctx, c, cursor) })
		if err != nil {
			return "", err
		}
		var fields map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields[field], &items) != nil {
			return "", domain.Errorf(domain.CodeToolFailed, "The MCP server %q sent a list that cannot be read.", server)
		}
		for _, item := range items {
			if count, size = count+1, size+len(item); count > maxListed || size > maxListedBytes {
				return "", domain.Errorf(domain.CodeToolFailed, "The MCP server %q lists more than %d %s, or more than %d MiB of them.", server, maxListed, field, maxListedBytes>>20)
			}
			take(item)
		}
		_ = json.Unmarshal(fields["nextCursor"], &next)
		return next, nil
	}))
}

// ask sends a request that only reads. It may be sent again without harm, and is not.
func (s *Session) ask(ctx context.Context, server, method string, send func(context.Context, *connection) error) (json.RawMessage, error) {
	l, err := s.link(server)
	if err != nil {
		return nil, err
	}
	c, err := l.connected(ctx)
	if err != nil {
		return nil, err
	}
	clock := newClock(ctx, callTimeout(c.server))
	defer clock.stop()
	raw, err := c.send(clock.ctx, method, func(ctx context.Context) error { return send(ctx, c) })
	if err == nil {
		l.works()
		return raw, nil
	}
	return nil, s.notRead(server, err)
}

// notRead is the error of a request that only reads.
func (s *Session) notRead(server string, err error) error {
	var failed *wire.Error
	if !errors.As(err, &failed) || domain.CodeOf(err) != domain.CodeInternal {
		return err
	}
	return domain.Errorf(domain.CodeToolFailed, "The MCP server %q %s.", server, s.manager.config.Mask(failed.Text)).With(err)
}
