package shell

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse shows what comes out. A command that Runs has a star before it; unclear says only whether a person must look.
func TestParse(t *testing.T) {
	for line, want := range map[string]struct {
		commands, writes []string
		unclear          bool
	}{
		"git status":                          {commands: []string{"git status"}},
		"cat a; rm y":                         {commands: []string{"cat a", "rm y"}, writes: []string{"y"}},
		"cat 'a b' \"c\" d\\ e":               {commands: []string{"cat a b c d e"}},
		"ls *.log ~/x":                        {commands: []string{"ls *.log ~/x"}},
		"\\rm x":                              {commands: []string{"rm x"}, writes: []string{"x"}},
		"a && b || c | d; e":                  {commands: []string{"*a", "*b", "*c", "*d", "*e"}},
		"date & uptime":                       {commands: []string{"date", "uptime"}, unclear: true},
		"(sleep 9; date) & wait":              {commands: []string{"sleep 9", "date"}, unclear: true},
		"(a; { b; })":                         {commands: []string{"*a", "*b"}},
		"if a; then b; elif c; then d; fi":    {commands: []string{"*a", "*b", "*c", "*d"}},
		"while a; do b; done":                 {commands: []string{"*a", "*b"}},
		"for i in 1 2; do date; done":         {commands: []string{"date"}},
		"for PATH in x; do date; done":        {commands: []string{"date"}, unclear: true},
		"case x in y) ls;; esac":              {commands: []string{"ls"}, unclear: true},
		"f() { rm x; }":                       {commands: []string{"rm x"}, writes: []string{"x"}, unclear: true},
		"coproc ls":                           {commands: []string{"ls"}, unclear: true},
		"[[ -f x ]] && ls":                    {commands: []string{"ls"}},
		"[[ 'a[$(id)]' -eq 1 ]]":              {unclear: true},
		"ls $(id) `who` <(date)":              {commands: []string{"id", "who", "date", "ls $(id) `who` <(date)"}, unclear: true},
		"cat <<EOF\n$(id)\nEOF":               {commands: []string{"id", "cat"}, unclear: true},
		"cat <<'EOF'\n$(id)\nEOF":             {commands: []string{"cat"}},
		"a=$(id) ls":                          {commands: []string{"id", "ls"}, unclear: true},
		"LANG=C ls":                           {commands: []string{"ls"}},
		"PATH=/x ls":                          {commands: []string{"ls"}, unclear: true},
		"a=rm; $a x":                          {commands: []string{"*rm x"}, unclear: true},
		"$'\\x72m' x":                         {commands: []string{"*rm x"}, unclear: true},
		"ls > a 2>> b &> c":                   {commands: []string{"ls"}, writes: []string{"a", "b", "c"}},
		"ls >| a <> b":                        {commands: []string{"ls"}, writes: []string{"a", "b"}},
		"ls > /dev/null 2>&1 >&2 2>/dev/null": {commands: []string{"ls"}},
		"ls >& a":                             {commands: []string{"ls"}, writes: []string{"a"}},
		"ls > ~/a":                            {commands: []string{"ls"}, writes: []string{"?"}},
		"ls > $a":                             {commands: []string{"ls"}, writes: []string{"?"}, unclear: true},
		"cd /etc && echo x > passwd":          {commands: []string{"cd /etc", "echo x"}, writes: []string{"?"}},
		"cd /etc && echo x > /tmp/a":          {commands: []string{"cd /etc", "echo x"}, writes: []string{"/tmp/a"}},
		"> a":                                 {writes: []string{"a"}},
		"cat < /dev/tcp/x/1":                  {commands: []string{"cat"}, unclear: true},
		"./deploy.sh":                         {commands: []string{"*./deploy.sh"}},
		"/bin/cat x":                          {commands: []string{"*/bin/cat x"}},
		"python3 x.py":                        {commands: []string{"*python3 x.py"}},
		"python3 --version":                   {commands: []string{"python3 --version"}},
		"make":                                {commands: []string{"*make"}},
		"docker exec web ls":                  {commands: []string{"*docker exec web ls"}},
		"docker ps":                           {commands: []string{"docker ps"}},
		"timeout -k 1 5 nice -n 3 cat x":      {commands: []string{"cat x"}},
		"timeout --odd 5 cat x":               {commands: []string{"cat x"}, unclear: true},
		"env -i LANG=C cat x":                 {commands: []string{"cat x"}},
		"env A=b cat x":                       {commands: []string{"cat x"}, unclear: true},
		"env":                                 {commands: []string{"env"}},
		"sudo -n cat x":                       {commands: []string{"*sudo -n cat x", "cat x"}},
		"busybox rm x":                        {commands: []string{"*busybox rm x", "rm x"}, writes: []string{"x"}},
		"command -v ls":                       {commands: []string{"command -v ls"}},
		"command rm x":                        {commands: []string{"rm x"}, writes: []string{"x"}},
		"/usr/bin/env rm x":                   {commands: []string{"*/usr/bin/env rm x", "rm x"}, writes: []string{"x"}},
		"ls | xargs -0 grep x":                {commands: []string{"ls", "grep x"}},
		"ls | xargs rm":                       {commands: []string{"ls", "rm"}, writes: []string{"?"}, unclear: true},
		"ls | xargs -I{} cat {}":              {commands: []string{"ls", "cat {}"}},
		"bash -ec 'ls; rm x'":                 {commands: []string{"ls", "rm x"}, writes: []string{"x"}},
		"bash -c \"ls $x\"":                   {unclear: true},
		"eval 'ls;' id":                       {commands: []string{"ls", "id"}},
		"bash x.sh":                           {commands: []string{"*bash x.sh"}},
		"find . -exec cat {} + -name x":       {commands: []string{"find . -exec cat {} + -name x", "cat {}"}},
		"find . -delete":                      {commands: []string{"find . -delete"}, writes: []string{"?"}, unclear: true},
		"find . -fprint x":                    {commands: []string{"find . -fprint x"}, writes: []string{"x"}},
		"find *":                              {commands: []string{"find *"}, unclear: true},
		"find /var/log/*":                     {commands: []string{"find /var/log/*"}},
		"sort -no a b":                        {commands: []string{"sort -no a b"}, writes: []string{"a"}},
		"sort --compress-program=x b":         {commands: []string{"sort --compress-program=x b"}, unclear: true},
		"sed -n '1,5p' x":                     {commands: []string{"sed -n 1,5p x"}},
		"sed -i.bak s/a/b/ x y":               {commands: []string{"sed -i.bak s/a/b/ x y"}, writes: []string{"x", "y"}},
		"sed 's/a/b/w x' y":                   {commands: []string{"sed s/a/b/w x y"}, unclear: true},
		"awk '$1 > 5 {print $2}' x":           {commands: []string{"awk $1 > 5 {print $2} x"}},
		"awk '{print > \"x\"}' y":             {commands: []string{"awk {print > \"x\"} y"}, unclear: true},
		"tee -a x y":                          {commands: []string{"tee -a x y"}, writes: []string{"x", "y"}},
		"cp a b":                              {commands: []string{"cp a b"}, writes: []string{"b"}},
		"cp -t d a b":                         {commands: []string{"cp -t d a b"}, writes: []string{"d"}},
		"mv a b":                              {commands: []string{"mv a b"}, writes: []string{"a", "b"}},
		"chmod 644 x":                         {commands: []string{"chmod 644 x"}, writes: []string{"x"}},
		"chmod -x a b":                        {commands: []string{"chmod -x a b"}, writes: []string{"a", "b"}},
		"chmod --ref=a b":                     {commands: []string{"chmod --ref=a b"}, writes: []string{"?"}},
		"cp --target-d=d a":                   {commands: []string{"cp --target-d=d a"}, writes: []string{"?", "a"}},
		"mv -t d a":                           {commands: []string{"mv -t d a"}, writes: []string{"a", "d"}},
		"mv -td a":                            {commands: []string{"mv -td a"}, writes: []string{"a", "d"}},
		"install -d a b":                      {commands: []string{"install -d a b"}, writes: []string{"a", "b"}},
		"tar cfz a b":                         {commands: []string{"tar cfz a b"}, writes: []string{"a"}},
		"tar tfz x:y":                         {commands: []string{"tar tfz x:y"}, unclear: true},
		"dd if=a of=b":                        {commands: []string{"dd if=a of=b"}, writes: []string{"b"}},
		"curl -sSLo x http://y":               {commands: []string{"*curl -sSLo x http://y"}, writes: []string{"x"}},
		"wget http://y":                       {commands: []string{"*wget http://y"}, writes: []string{"?"}},
		"tar tzf x.tgz":                       {commands: []string{"tar tzf x.tgz"}},
		"tar xzf x.tgz":                       {commands: []string{"tar xzf x.tgz"}, writes: []string{"?"}},
		"tar tf x --to-command=y":             {commands: []string{"tar tf x --to-command=y"}, unclear: true},
		"git commit -m x":                     {commands: []string{"*git commit -m x"}},
		"git -c a=b log":                      {commands: []string{"git -c a=b log"}, unclear: true},
		"cd x && git status":                  {commands: []string{"cd x", "git status"}, unclear: true},
		"ls # x":                              {commands: []string{"ls"}, unclear: true},
		"ls \\\n x":                           {commands: []string{"ls x"}, unclear: true},
		"ls \u200b":                           {commands: []string{"ls \u200b"}, unclear: true},
		"cat größe":                           {commands: []string{"cat größe"}},
		"сat x":                               {commands: []string{"*сat x"}, unclear: true}, // a Cyrillic s
		"ls \r":                               {commands: []string{"ls"}, unclear: true},
		"ls )":                                {unclear: true},
		"":                                    {unclear: true},
	} {
		script := Parse(t.Context(), line)
		var commands []string
		for _, c := range script.Commands {
			star := ""
			if c.Runs {
				star = "*"
			}
			commands = append(commands, star+c.Text)
		}
		if diff := cmp.Diff(want.commands, commands); diff != "" {
			t.Errorf("%q: commands (-want +got)\n%s", line, diff)
		}
		if diff := cmp.Diff(want.writes, script.Writes); diff != "" {
			t.Errorf("%q: writes (-want +got)\n%s", line, diff)
		}
		if got := len(script.Unclear) > 0; got != want.unclear {
			t.Errorf("%q: unclear: %q, want %v", line, script.Unclear, want.unclear)
		}
	}
}

// TestParseBounds: what is too much is unclear, and takes neither the stack nor the day.
func TestParseBounds(t *testing.T) {
	for name, line := range map[string]string{
		"long":        "echo " + strings.Repeat("x", maxLine),
		"brackets":    strings.Repeat("(", maxLine-1),
		"groups":      strings.Repeat("{ ", maxLine/2-1),
		"conditions":  strings.Repeat("if ", maxLine/3-1),
		"negations":   strings.Repeat("! ", maxLine/2-1),
		"backticks":   strings.Repeat("`\\", maxLine/2-1),
		"dollars":     strings.Repeat("$((", maxLine/3-1),
		"quotes":      strings.Repeat("\"$(", maxLine/3-1),
		"commands":    strings.Repeat("ls;", 51),
		"separators":  strings.Repeat(";", maxLine-1),
		"pipes":       strings.Repeat("ls|", maxLine/3-1) + "ls",
		"scripts":     strings.Repeat("sh -c ", 1000) + "ls",
		"evals":       strings.Repeat("eval ", 10000) + "ls",
		"envs":        strings.Repeat("env ", 16000) + "ls",
		"here":        strings.Repeat("<<a ", 16000),
		"assignments": strings.Repeat("a=b ", 16000),
		"arithmetic":  "echo $((" + strings.Repeat("1+", 30000) + "1))",
		"bytes":       "ls \xff",
	} {
		script := Parse(t.Context(), line)
		if len(script.Unclear) == 0 {
			t.Errorf("%s: clear", name)
		}
		_ = script.Catastrophe()
	}
}

func ExampleParse() {
	script := Parse(context.Background(), "cat a.log | timeout 5 grep -c x > count")
	for _, c := range script.Commands {
		fmt.Println(c.Text)
	}
	fmt.Fprintln(os.Stdout, "writes", script.Writes)
	// Output:
	// cat a.log
	// grep -c x
	// writes [count]
}

// TestReadings: what holds back sees more than what allows.
func TestReadings(t *testing.T) {
	for line, want := range map[string][]string{
		"timeout 5 cat x": {"cat x", "timeout 5 cat x"},
		"sh -c 'ls'":      {"ls", "sh -c ls"},
		"ls":              {"ls"},
		`rm -rf "x`:       {"rm -rf x"},
	} {
		var got []string
		for _, c := range Parse(t.Context(), line).Readings() {
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
