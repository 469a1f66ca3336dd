package tools

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// A long article has a tenth of each. The converter cannot be stopped, so what it is given decides how long it takes: at
// most about a second. Its time grows faster than the number of nodes.
const (
	maxNodes     = 100_000
	maxConverted = 2 << 20 // bytes of text
	maxMarks     = 200_000 // characters that may mean something in Markdown: each is looked at with what is around it
)

const marks = "\\`*_[]#!|<>~"

// pageMarkdown is a page as Markdown. Where the page is too large for convert, or convert fails, also by a panic, it is
// the plain text of the page: a page that somebody made to break the converter must not break the server.
func pageMarkdown(page string, from *url.URL, convert func(*html.Node) (string, error)) string {
	tree := parseHTML(page, from)
	if tooLarge(tree) {
		return plainText(tree)
	}
	text, err := guarded(convert, tree)
	if err != nil {
		return plainText(parseHTML(page, from)) // the converter has changed the tree
	}
	return text
}

func tooLarge(tree *html.Node) bool {
	nodes, text, marked := 0, 0, 0
	for node := range tree.Descendants() {
		nodes++
		if node.Type == html.TextNode {
			text += len(node.Data)
			for _, mark := range marks {
				marked += strings.Count(node.Data, string(mark))
			}
		}
	}
	return nodes > maxNodes || text > maxConverted || marked > maxMarks
}

func guarded(convert func(*html.Node) (string, error), tree *html.Node) (text string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("tools: the converter panicked: %v", problem)
		}
	}()
	return convert(tree)
}

// toMarkdown changes the tree. Cells are not padded to the width of their column: one long cell would blow up all.
func toMarkdown(tree *html.Node) (string, error) {
	plugins := converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithHeaderPromotion(true),
		),
	)
	markdown := converter.NewConverter(plugins)
	markdown.Register.UnEscaper(escapeBracket, converter.PriorityEarly)
	text, err := markdown.ConvertNode(tree)
	return string(text), err
}

// escapeBracket decides at once that a bracket is not the beginning of a link. The converter would look for its end, through
// all that follows, again for each bracket: a page of nothing but brackets kept it busy for hours.
func escapeBracket(text []byte, at int) int {
	if text[at] == '[' {
		return 1
	}
	return -1
}
