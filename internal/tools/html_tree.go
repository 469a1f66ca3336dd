package tools

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxTreeDepth = 100
	maxIndents   = 8      // lists and quotes around a text: each indents every line inside once more
	maxStyles    = 4      // formats around a text: each is written around every line inside
	maxCells     = 50_000 // of all tables, with those that spans and short rows are filled up with
	maxSpan      = 1000
	maxLinkBytes = 2000
)

// parseHTML makes a tree of a page that has no more elements than the page has tags.
//
// The parser of the HTML standard promises no such thing: it opens formatting that was not closed again in each
// paragraph, so that 50 KB of a hostile page become 700 MB of tree. What a browser would make of broken pages is not
// worth that. Elements that lie too deep are left out, and their text belongs to the element around them.
func parseHTML(page string, base *url.URL) *html.Node {
	root := &html.Node{Type: html.DocumentNode}
	builder := treeBuilder{base: base, open: []*html.Node{root}}
	tokens := html.NewTokenizer(strings.NewReader(page))
	for tokens.Next() != html.ErrorToken {
		builder.take(tokens.Token())
	}
	builder.endText()
	flattenTables(root, maxCells)
	return root
}

type treeBuilder struct {
	base     *url.URL
	open     []*html.Node    // from the root down
	text     strings.Builder // of the innermost, since its last child: the converter takes long to join many pieces
	dropping bool            // the next text is a script or the like
}

var (
	dropped = atoms("script", "style", "iframe", "noembed", "noframes", "noscript", "textarea", "title")
	void    = atoms("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
	indents = atoms("ul", "ol", "blockquote")
	styles  = atoms("a", "b", "strong", "i", "em", "s", "del", "strike", "code", "kbd", "samp", "tt", "var", "h1", "h2", "h3", "h4",
		"h5", "h6", "pre")
	blocks = atoms("address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure", "footer",
		"form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary",
		"table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul")
	cells = atoms("td", "th")
)

// implied tells which open elements a start tag ends, and which elements around it keep it from doing so.
var implied = map[atom.Atom]struct{ ends, within []atom.Atom }{
	atom.A:     {atoms("a"), atoms("table", "td", "th")},
	atom.Li:    {atoms("li"), atoms("ul", "ol", "table", "td", "th")},
	atom.Dt:    {atoms("dt", "dd"), atoms("dl", "table", "td", "th")},
	atom.Dd:    {atoms("dt", "dd"), atoms("dl", "table", "td", "th")},
	atom.Td:    {atoms("td", "th"), atoms("tr", "table")},
	atom.Th:    {atoms("td", "th"), atoms("tr", "table")},
	atom.Tr:    {atoms("tr"), atoms("table")},
	atom.Thead: {atoms("tr", "thead", "tbody", "tfoot"), atoms("table")},
	atom.Tbody: {atoms("tr", "thead", "tbody", "tfoot"), atoms("table")},
	atom.Tfoot: {atoms("tr", "thead", "tbody", "tfoot"), atoms("table")},
}

func atoms(names ...string) []atom.Atom {
	list := make([]atom.Atom, 0, len(names))
	for _, name := range names {
		list = append(list, atom.Lookup([]byte(name)))
	}
	return list
}

func (b *treeBuilder) take(token html.Token) {
	wasDropping := b.dropping
	b.dropping = false
	switch token.Type {
	case html.TextToken:
		if !wasDropping {
			b.text.WriteString(token.Data)
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		b.start(token)
	case html.EndTagToken:
		b.end(token)
	}
}

func (b *treeBuilder) top() *html.Node { return b.open[len(b.open)-1] }

func (b *treeBuilder) endText() {
	if b.text.Len() > 0 {
		b.top().AppendChild(&html.Node{Type: html.TextNode, Data: b.text.String()})
		b.text.Reset()
	}
}

func (b *treeBuilder) add(element *html.Node) {
	b.endText()
	b.top().AppendChild(element)
}

// endFrom closes an open element, and all inside it.
func (b *treeBuilder) endFrom(i int) {
	b.endText()
	b.open = b.open[:i]
}

func (b *treeBuilder) start(token html.Token) {
	if slices.Contains(dropped, token.DataAtom) {
		b.dropping = true
		return
	}
	b.endImplied(token.DataAtom)
	if slices.Contains(cells, token.DataAtom) && b.top().DataAtom != atom.Tr {
		b.push(&html.Node{Type: html.ElementNode, Data: "tr", DataAtom: atom.Tr})
	}
	element := &html.Node{Type: html.ElementNode, Data: token.Data, DataAtom: token.DataAtom, Attr: b.attributes(token)}
	if _, linked := attribute(element, "href"); element.DataAtom == atom.A && !linked {
		return // an anchor, or a link to nowhere
	}
	if token.Type == html.SelfClosingTagToken || slices.Contains(void, token.DataAtom) {
		b.add(element)
		return
	}
	b.push(element)
}

func (b *treeBuilder) endImplied(name atom.Atom) {
	if slices.Contains(blocks, name) {
		b.close([]atom.Atom{atom.P}, atoms("table", "td", "th"))
	}
	if rule, found := implied[name]; found {
		for b.close(rule.ends, rule.within) {
			continue // a row ends before the body that it is in
		}
	}
}

// push opens an element, where that is not too deep.
func (b *treeBuilder) push(element *html.Node) {
	if len(b.open) > maxTreeDepth || b.nested(element, indents, maxIndents) || b.nested(element, styles, maxStyles) {
		return
	}
	b.add(element)
	b.open = append(b.open, element)
}

// nested reports whether as many elements of this kind are open as may be.
func (b *treeBuilder) nested(element *html.Node, kind []atom.Atom, most int) bool {
	if !slices.Contains(kind, element.DataAtom) {
		return false
	}
	for _, around := range b.open {
		if slices.Contains(kind, around.DataAtom) {
			most--
		}
	}
	return most <= 0
}

// end closes the element that an end tag means. What is open outside of a cell is not ended inside of it.
func (b *treeBuilder) end(token html.Token) {
	within := atoms("td", "th", "table")
	switch token.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
		within = atoms("table")
	}
	for i := len(b.open) - 1; i > 0; i-- {
		if b.open[i].Data == token.Data {
			b.endFrom(i)
			return
		}
		if slices.Contains(within, b.open[i].DataAtom) {
			return
		}
	}
}

// close ends the nearest open element of those, and all inside it.
func (b *treeBuilder) close(ends, within []atom.Atom) bool {
	for i := len(b.open) - 1; i > 0; i-- {
		switch {
		case slices.Contains(ends, b.open[i].DataAtom):
			b.endFrom(i)
			return true
		case slices.Contains(within, b.open[i].DataAtom):
			return false
		}
	}
	return false
}

// attributes keeps the attributes that the text of a page needs, and makes links absolute.
func (b *treeBuilder) attributes(token html.Token) []html.Attribute {
	var kept []html.Attribute
	for _, attribute := range token.Attr {
		switch attribute.Key {
		case "alt", "title", "align", "class", "start":
		case "colspan", "rowspan":
			if span, err := strconv.Atoi(attribute.Val); err != nil || span < 1 || span > maxSpan {
				continue
			}
		case "href", "src":
			if attribute.Val = b.link(attribute.Val); attribute.Val == "" {
				continue
			}
		default:
			continue
		}
		kept = append(kept, attribute)
	}
	return kept
}

// link is a reference as it can be fetched; empty where it cannot, such as a picture inside of the page.
func (b *treeBuilder) link(reference string) string {
	if len(reference) > maxLinkBytes {
		return ""
	}
	target, err := b.base.Parse(strings.TrimSpace(reference))
	if err != nil || target.Scheme == "data" || target.Scheme == "javascript" {
		return ""
	}
	return target.String()
}

// flattenTables marks the tables that would be far larger as a table than they are: one cell of one row that spans
// a thousand columns fills up all other rows. The converter writes what is marked as a layout row by row. It returns how
// many cells the tables that follow may have.
func flattenTables(node *html.Node, room int) int {
	for child := range node.ChildNodes() {
		room = flattenTables(child, room)
	}
	if node.DataAtom != atom.Table {
		return room
	}
	if cells := area(node); cells <= room {
		return room - cells
	}
	node.Attr = append(node.Attr, html.Attribute{Key: "role", Val: "presentation"})
	return room
}

// area is how many cells the table has when all rows are as wide as the widest, at most.
func area(table *html.Node) int {
	rows, widest, spanned, highest := 1, 0, 0, 1
	for node := range table.Descendants() {
		if node.DataAtom != atom.Tr {
			continue
		}
		rows++
		width := 0
		for cell := range node.ChildNodes() {
			columns, lines := span(cell, "colspan"), span(cell, "rowspan")
			width, spanned, highest = width+columns, spanned+columns*lines, max(highest, lines)
		}
		widest = max(widest, width)
	}
	return (rows+highest)*widest + spanned
}

func span(cell *html.Node, key string) int {
	value, _ := attribute(cell, key)
	number, err := strconv.Atoi(value)
	if err != nil {
		return 1
	}
	return number
}

func attribute(element *html.Node, key string) (value string, given bool) {
	for _, one := range element.Attr {
		if one.Key == key {
			return one.Val, true
		}
	}
	return "", false
}

// plainText is the text of a tree, a line for each block.
func plainText(root *html.Node) string {
	var text strings.Builder
	for node := range root.Descendants() {
		switch {
		case node.Type == html.TextNode:
			text.WriteString(strings.Join(strings.Fields(node.Data), " ") + " ")
		case node.DataAtom == atom.Br || slices.Contains(blocks, node.DataAtom):
			text.WriteByte('\n')
		}
	}
	lines := strings.FieldsFunc(text.String(), func(r rune) bool { return r == '\n' })
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
