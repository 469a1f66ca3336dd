package binaries


