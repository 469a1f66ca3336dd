package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"
)

// aclFor is an ACL as the kernel has it: the modes of the owner, of one more user, of the group, the mask, and the mode of others.
func aclFor(uid uint32, owner, user, group, mask, other uint16) string {
	var b bytes.Buffer
	const nobody = ^uint32(0)
	for _, one := range []any{uint32(2),
		[]uint16{1, owner}, nobody, []uint16{2, user}, uid, []uint16{4, group}, nobody, []uint16{16, mask}, nobody, []uint16{32, other}, nobody} {
		_ = binary.Write(&b, binary.LittleEndian, one) // a buffer has no errors
	}
	return b.String()
}

// private lets one more user read and write a file that is closed to its group: the mode says rw-rw----.
var private = aclFor(1234, 6, 6, 0, 6, 0)

// inherited lets another user read what comes into being in a folder.
var inherited = aclFor(4321, 7, 7, 5, 7, 0)

// shownACLs are those of a file on disk, as tests compare them.
func shownACLs(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	info, err := file.Stat()
	must(t, err)
	all, err := aclsOf(file, info.IsDir())
	must(t, err)
	return all.shown()
}

func (a acls) shown() string {
	if a == (acls{}) {
		return ""
	}
	return fmt.Sprintf("+%x,%x", a.Access, a.Default)
}
