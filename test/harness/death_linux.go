package harness

import (
	"cmp"
	"syscall"
)

func dieWithStarter(attributes *syscall.SysProcAttr) {
	attributes.Pdeathsig = cmp.Or(attributes.Pdeathsig, syscall.SIGKILL)
}
