// Package program runs the programs of MCP servers, in the sandbox.
//
// A program runs for one execution, below the supervisor. By default it sees what the execution's environment shows, and besides its own program file
// and the paths among its arguments, read-only. The operator's entry can name another environment, and more files and hosts. The commands of the
// execution get nothing of that: neither hosts nor variables.
//
// Promises:
//
//   - A program with secrets is never one that agents can have written: a file or folder that it is run from, and that the execution, or another one in a
//     workspace or environment of this server, can write, is refused, by whatever name it is reached.
//   - It starts in a folder of its own that is empty, so that nothing of a workspace is taken for a part of the program.
//   - When Close returns, nothing of it is left. That takes five seconds at most.
package program
