//go:build !linux

package checkpoint

import (
	"errors"
	"os"
)

const accessACL, defaultACL = "", ""

func aclOf(*os.File, string) (string, error) { return "", nil }

func setACL(_ *os.File, _, value string) error {
	if value == "" {
		return nil
	}
	return errors.ErrUnsupported
}
