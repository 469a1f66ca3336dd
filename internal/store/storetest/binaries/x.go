package binaries
