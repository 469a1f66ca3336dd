package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tree is a folder of many small files, as a project has them: a hundred to a folder, texts of half a kilobyte to three and a half.
type tree struct {
	folder string
	bytes  int64 // in its files, when it was filled
	given  int   // names of new files that were given away
}

// settling is how long a file must have been left alone before a checkpoint believes the times of its last change.
const settling = 2 * time.Second

// fill writes the files, once. They are the same in each run.
func (t *tree) fill(files int) error {
	if t.bytes > 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := prose(random)
	for i := range files {
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(t.path(i)), 0o750); err != nil {
				return err
			}
		}
		size := 500 + random.IntN(3000)
		at := random.IntN(len(text) - size)
		if err := os.WriteFile(t.path(i), []byte(text[at:at+size]), 0o600); err != nil {
			return err
		}
		t.bytes += int64(size)
	}
	time.Sleep(settling)
	return nil
}

func (t *tree) path(file int) string {
	return filepath.Join(t.folder, fmt.Sprintf("%02d/%02d/%02d.txt", file/10_000, file/100%100, file%100))
}

// prose is a long text that can be compressed as much as source code.
func prose(random *rand.Rand) string {
	words := make([]string, 4000)
	for i := range words {
		for range 2 + random.IntN(8) {
			words[i] += string(rune('a' + random.IntN(26)))
		}
	}
	common := rand.NewZipf(random, 1.2, 8, uint64(len(words)-1))
	var text strings.Builder
	for text.Len() < 4<<20 {
		text.WriteString(words[common.Uint64()])
		text.WriteByte(" \n"[min(random.IntN(10), 9)/9])
	}
	return text.String()
}

// edit changes one file.
func (t *tree) edit() error {
	t.given++
	return os.WriteFile(t.path(0), fmt.Appendf(nil, "Somebody has written this, the change %d.\n", t.given), 0o600)
}

// newFile is the path of a file that there is not, relative to the folder.
func (t *tree) newFile() string {
	t.given++
	return fmt.Sprintf("new-%d.txt", t.given)
}
