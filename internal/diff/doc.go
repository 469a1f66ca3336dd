// Package diff compares two texts line by line.
//
// # Model
//
// A [Diff] lists the changes from one text to another as hunks. A hunk has changed lines and the three unchanged lines before and after them.
// [Diff.Unified] writes it as a unified diff.
//
// [Files] compares two contents of a file. [Excerpts] compares two parts of a file whose other lines are unknown.
//
// # Promises
//
//   - Applying a diff to the old text gives the new text, byte by byte: also with CRLF, without a line feed at the end, and from or to an empty
//     text. A Truncated diff is for reading only.
//   - The hunks and the unified text say the same.
//   - Additions and Deletions count all changed lines, also those that a Truncated diff leaves out.
//   - A comparison takes time and memory in proportion to the texts. The search for the fewest edits is bounded; beyond its bound, all lines between the
//     first and the last difference count as replaced.
//   - The same texts make the same diff.
//
// # Limits
//
// A comparison does not split files into lines that are larger than [Limits.Bytes]. All their lines between the first and the last difference count as replaced.
//
// A diff has no modes and no renames, and does not tell whether a file exists. The diff between no file and an empty one is empty.
//
// # Use
//
//	compared := diff.Files(before, after, diff.Limits{Bytes: 1 << 20, Lines: 5000})
//	compared.Hunks
//	compared.Unified("a/"+path, "b/"+path)
//	compared.Unified(diff.DevNull, path) // of a new file
//
// Sources: E. W. Myers, An O(ND) Difference Algorithm and Its Variations, 1986;
// https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html.
package diff
