package tools

import (
	"fmt"
	"net/url"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

const maxNodes = 100_000 // a long article has a tenth of it; the time to convert a page grows faster than the page

// pageMarkdown is a page as Markdown. Where the page is too large for convert, or convert fails, also by a panic, it is
// the plain text of the page: a page that somebody made to break the converter must not break the server.
func pageMarkdown(page string, from *url.URL, convert func(*html.Node) (string, error)) string {
	tree := parseHTML(page, from)
	if nodesOf(tree) > maxNodes {
		return plainText(tree)
	}
	text, err := guarded(convert, tree)
	if err != nil {
		return plainText(parseHTML(page, from)) // the converter has changed the tree
	}
	return text
}

func nodesOf(tree *html.Node) int {
	count := 0
	for range tree.Descendants() {
		count++
	}
	return count
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
	text, err := converter.NewConverter(plugins).ConvertNode(tree)
	return string(text), err
}
