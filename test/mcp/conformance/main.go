// Command conformance is the client that the conformance kit drives.
package main

func main() {}
