package checkpoint

import (
	"cmp"
	"encoding/hex"
	"os"
)

// acls are the POSIX ACLs of a file or a folder. Where there is one, the bits of the group in the mode are its mask: the mode alone, without the ACL, would open the
// file to its whole group.
type acls struct {
	Access, Default string // as the kernel has them; empty: none
}

func aclsOf(file *os.File, isFolder bool) (all acls, err error) {
	if all.Access, err = aclOf(file, accessACL); err != nil || !isFolder {
		return all, err
	}
	all.Default, err = aclOf(file, defaultACL)
	return all, err
}

// written is an ACL as the manifest and the index have it.
func written(acl string) string { return cmp.Or(hex.EncodeToString([]byte(acl)), "-") }

func readWritten(text string) (string, error) {
	if text == "-" {
		return "", nil
	}
	acl, err := hex.DecodeString(text)
	return string(acl), err
}
