// Postgres prints the folder of the PostgreSQL programs that the tests use. Where there are none it brings them: see package binaries.
package main

import (
	"fmt"
	"os"

	"signoff/internal/store/storetest/binaries"
)

func main() {
	folder, err := binaries.Find(os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(folder)
}
