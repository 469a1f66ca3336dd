package secrets_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"signoff/internal/secrets"
)

const dumped = "hunter-2:Bj93_kd0/xQ" // longer than a row, and half as long as two

// printers are the ways in which people print bytes in hex.
var printers = map[string][]string{
	"xxd": {"xxd"}, "xxd plain": {"xxd", "-p"}, "xxd in capitals": {"xxd", "-u"}, "xxd in narrow rows": {"xxd", "-c", "5"},
	"xxd byte by byte": {"xxd", "-g1"}, "xxd by little words": {"xxd", "-e"}, "xxd two a row": {"xxd", "-c", "2"},
	"od by bytes": {"od", "-An", "-tx1"}, "od with offsets": {"od", "-tx1"}, "od in hex offsets": {"od", "-Ax", "-tx1"}, "od with letters": {"od", "-tx1z"},
	"od by words": {"od", "-x"}, "od by four": {"od", "-tx4"}, "od by eight": {"od", "-tx8"}, "od in narrow rows": {"od", "-tx1", "-w4"},
	"xxd in C": {"xxd", "-i"}, "xxd in C in capitals": {"xxd", "-i", "-u"}, "xxd one a row": {"xxd", "-c1"}, "xxd plain, one a row": {"xxd", "-p", "-c1"},
	"od one a row": {"od", "-An", "-tx1", "-w1"}, "od one a row with offsets": {"od", "-tx1", "-w1"}, "od above letters": {"od", "-tx1c"},
	"od above letters, without offsets": {"od", "-An", "-tx1c"}, "od above letters, decimal offsets": {"od", "-Ad", "-tx1", "-tc"}, "od above letters, one a row": {"od", "-tx1c", "-w1"},
	"with colons": {"hexdump", "-v", "-e", `/1 "%02x:"`}, "with dashes": {"hexdump", "-v", "-e", `/1 "%02X-"`},
	"hexdump": {"hexdump"}, "hexdump with letters": {"hexdump", "-C"},
}

// TestDumpsAreMasked has the programs themselves print a value at each place of a row. Where one is not installed, its rows are made here.
func TestDumpsAreMasked(t *testing.T) {
	masker := secrets.NewMasker(dumped)
	for name, printer := range printers {
		if _, err := exec.LookPath(printer[0]); err != nil {
			t.Logf("NOT TESTED, there is no %s: %s", printer[0], name)
			continue
		}
		for before := range 20 {
			said := string(printed(t, printer, strings.Repeat("~", before)+dumped+"!\n"))
			checkDump(t, fmt.Sprintf("%s, after %d bytes", name, before), said, masker.MaskString(said))
			sameInPieces(t, masker, said, func(left int) int { return min(left, 7) })
		}
	}
}

// checkDump expects that no more than a byte is left of what a row showed of the value, in hex or in letters.
func checkDump(t *testing.T, what, said, masked string) {
	t.Helper()
	left := strings.ReplaceAll(masked, secrets.Masked, "\x00")
	digits := strings.NewReplacer(" ", "", "\n", "", ":", "", "-", "", ",", "", "0x", "", `\x`, "").Replace(strings.ToLower(left))
	for i := range len(dumped) - 3 {
		part := dumped[i : i+3]
		reversed := []byte{part[2], part[1], part[0]}
		if strings.Contains(left, part) || strings.Contains(digits, hex.EncodeToString([]byte(part))) || strings.Contains(digits, hex.EncodeToString(reversed)) {
			t.Errorf("%s: %q is left:\n%s\nof\n%s", what, part, masked, said)
			return
		}
	}
	if !strings.Contains(masked, secrets.Masked) {
		t.Errorf("%s: nothing is masked:\n%s", what, masked)
	}
}

// TestTheIndexOfDumpsLosesNone prints values of all lengths, alone and within other data, in every way that the masker follows, cuts the texts where
// rows and pieces of a stream end, and compares each place with what reading every dump there finds.
func TestTheIndexOfDumpsLosesNone(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	found, open := 0, 0
	for _, name := range slices.Sorted(maps.Keys(printers)) {
		printer := printers[name]
		if _, err := exec.LookPath(printer[0]); err != nil {
			t.Logf("NOT TESTED, there is no %s: %s", printer[0], name)
			continue
		}
		values := likeValues(random)
		text := printed(t, printer, dataWith(random, values))
		masker := secrets.NewMasker(values...)
		for begin := range text {
			end := min(len(text), begin+1+random.IntN(300)) // a piece of a stream ends anywhere
			last := random.IntN(2) == 0
			to, cut := masker.Dumped(text[:end], begin, last)
			wantTo, wantCut := secrets.DumpedPlainly(values, text[:end], begin, last)
			if cut != wantCut || !cut && to != wantTo {
				t.Fatalf("%s, values %q: a dump at %d of %q ends at %d (cut: %v), want %d (%v)", name, values, begin, text[:end], to, cut, wantTo, wantCut)
			}
			found, open = found+min(to, 1), open+count(cut)
		}
	}
	if found < 100 || open < 400 {
		t.Errorf("this proves little: %d dumps were found, and %d were cut", found, open)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// likeValues are values of few letters, some of which begin alike, so that many dumps begin where only one goes on.
func likeValues(random *rand.Rand) (values []string) {
	for _, begin := range []string{"", "", "", "ab", "abab"} {
		value := []byte(begin)
		for range secrets.MinLength + random.IntN(15) {
			value = append(value, "abc7~"[random.IntN(5)])
		}
		values = append(values, string(value))
	}
	return values
}

// dataWith has each of the values, whole or in part, behind and before other data; one of them ends it.
func dataWith(random *rand.Rand, values []string) string {
	var data strings.Builder
	for _, i := range random.Perm(len(values)) {
		value := values[i]
		data.WriteString(strings.Repeat("abc", 4)[:random.IntN(12)])
		data.WriteString(value[:len(value)-random.IntN(2)*random.IntN(len(value))])
		data.WriteString(strings.Repeat("\x00~", 8)[:random.IntN(16)])
	}
	return data.String() + values[random.IntN(len(values))]
}

// printed is what a program prints of data.
func printed(t *testing.T, printer []string, data string) []byte {
	t.Helper()
	printing := exec.Command(printer[0], printer[1:]...)
	printing.Stdin = strings.NewReader(data)
	said, err := printing.Output()
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// rows prints bytes as xxd and hexdump do, without either.
func rows(content string, width, group int, offset, bar string) string {
	var all strings.Builder
	for at := 0; at < len(content); at += width {
		row := content[at:min(len(content), at+width)]
		if offset != "" {
			fmt.Fprintf(&all, offset, at)
		}
		for i := range len(row) {
			fmt.Fprintf(&all, "%02x", row[i])
			if (i+1)%group == 0 {
				all.WriteByte(' ')
			}
		}
		fmt.Fprintf(&all, "  %s%s%s\n", bar, row, bar)
	}
	return all.String()
}

func TestRowsAreMasked(t *testing.T) {
	masker := secrets.NewMasker(dumped)
	for before := range 20 {
		content := strings.Repeat("~", before) + dumped + "!"
		for _, said := range []string{
			rows(content, 16, 2, "%08x: ", ""), rows(content, 16, 8, "%08x  ", "|"), rows(content, 16, 1, "%07o ", ">"), rows(content, 5, 1, "", ""),
		} {
			checkDump(t, fmt.Sprintf("after %d bytes", before), said, masker.MaskString(said))
		}
	}
}

// TestSpelledOutBytesAreMasked: what programs print of a value, byte by byte.
func TestSpelledOutBytesAreMasked(t *testing.T) {
	const value = "S3cr3t-Value-ZYXWV9"
	masker := secrets.NewMasker(value)
	bytewise := func(format, separator string) string {
		var all []string
		for i := range len(value) {
			all = append(all, fmt.Sprintf(format, value[i]))
		}
		return strings.Join(all, separator)
	}
	numbered := func(format string) string {
		var all strings.Builder
		for i := range len(value) {
			fmt.Fprintf(&all, format, i, value[i])
		}
		return all.String()
	}
	lettered := "0000000  " + bytewise("%02x", "  ")[:16*4-2] + "\n          S   3   c   r   3   t   -   V   a   l   u   e   -   Z   Y   X\n" +
		"0000020  57  56  39  0a\n          W   V   9  \\n\n0000024\n"
	for name, c := range map[string][2]string{
		"colons":                    {"<" + bytewise("%02x", ":") + ">", "<[masked]>"},
		"dashes":                    {bytewise("%02X", "-"), "[masked]"},
		"commas":                    {bytewise("%02x", ", "), "[masked]"},
		"percent":                   {"?q=" + bytewise("%%%02X", "") + "&a", "?q=%[masked]&a"},
		"small percent":             {bytewise("%%%02x", ""), "%[masked]"},
		"escapes":                   {`$'` + bytewise(`\x%02x`, "") + `'`, `$'\x[masked]'`},
		"escapes in JSON":           {`"` + bytewise(`\\x%02x`, "") + `"`, `"\\x[masked]"`},
		"escapes of JSON":           {`"` + bytewise(`\u%04x`, "") + `"`, `"\u00[masked]"`},
		"entities":                  {bytewise("&#x%x;", ""), "&#x[masked];"},
		"xxd -i":                    {"  " + bytewise("0x%02x", ", ")[:72] + "\n  " + bytewise("0x%02x", ", ")[72:], "  0x[masked]"},
		"xxd -i -c1":                {bytewise("  0x%02x", ",\n"), "  0x[masked]"},
		"C":                         {bytewise("0x%02x", ",\n"), "0x[masked]"},
		"xxd -c1":                   {numbered("%08x: %02[2]x  %[2]c\n"), "00000000: [masked]\n"},
		"xxd -p -c1":                {bytewise("%02x\n", ""), "[masked]\n"},
		"od -An -tx1 -w1":           {bytewise(" %02x\n", ""), " [masked]\n"},
		"od -tx1 -w1":               {numbered("%07o %02x\n"), "0000000 [masked]\n"},
		"od -tx1z -w1":              {numbered("%07o %02[2]x  >%[2]c<\n"), "0000000 [masked]\n"},
		"od -tx1c":                  {lettered, "0000000  [masked]\n0000024\n"},
		"od -tx1c -w1":              {numbered("%07o  %02[2]x\n          %[2]c\n"), "0000000  [masked]\n"},
		"lines that end in returns": {bytewise("%02x\r\n", ""), "[masked]\n"},
	} {
		if got := masker.MaskString(c[0]); got != c[1] {
			t.Errorf("%s: %q became %q, want %q", name, c[0], got, c[1])
		}
		sameInPieces(t, masker, c[0], func(int) int { return 1 })
	}
}

// TestWhatIsNoDumpStays: numbers and hashes are what logs are made of.
func TestWhatIsNoDumpStays(t *testing.T) {
	masker := secrets.NewMasker(dumped)
	for _, text := range []string{
		"68 bottles, 75 left", "00000000: 6875 6e00  hun.\n", "commit 6875ae1", "68\n75\n6e\n00\n", "68:75:6e:74", "0x68, 0x75, 0x6e,\n0x00", "00000000: 68  h\n00000001: 75  u\n", hex.EncodeToString([]byte("hunter-3")),
	} {
		if got := masker.MaskString(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestADumpHoldsBackLittle: numbers stand in many answers, and these are to be seen while they are said.
func TestADumpHoldsBackLittle(t *testing.T) {
	stream := secrets.NewStream(secrets.NewMasker(dumped))
	for _, c := range [][2]string{{"There are 68", "There are "}, {" bottles", "68 bottles"}, {" of 75", " of "}, {".", "75."}} {
		if got := stream.Write(c[0]); got != c[1] {
			t.Errorf("%q released %q, want %q", c[0], got, c[1])
		}
	}
}

// TestDumpsInPieces: a dump is masked wherever a stream is cut, and so is what only begins like one.
func TestDumpsInPieces(t *testing.T) {
	masker := secrets.NewMasker(dumped, "aaaaaaaa", "0000000")
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{" ", "  ", "\n", "68", "75", "6e", "61", "30", "3", "6", "00000010: ", "0000020 ", "|hunter|", "x", rows(dumped, 16, 2, "%08x: ", ""), rows("aaaaaaaaaaaa", 4, 1, "%07x ", "")}
	for range 500 {
		var text strings.Builder
		for range 1 + random.IntN(10) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		sameInPieces(t, masker, text.String(), func(left int) int { return 1 + random.IntN(left) })
		sameInPieces(t, masker, text.String(), func(left int) int { return 1 + random.IntN(min(left, 3)) })
		if t.Failed() {
			return
		}
	}
}
