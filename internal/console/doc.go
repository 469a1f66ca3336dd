// Package console is the console: the page that people see in a browser, and how it is served.
//
// The folder web has everything that runs in browsers: plain modules, styles and one page. They are embedded as they lie there, so a browser runs
// the files that a reader of the repository reads. Nothing is built.
//
// To the server they are files. The page works through the routes of the API, with a key that its tab holds, so nothing trusts it more than another
// client. It runs under a policy that allows its own modules and nothing else.
//
// # Addresses and caches
//
//	/                        the page; a browser asks each time whether it still has it
//	/console/{release}/file  a file; a browser keeps it for a year
//
// The release is a digest of all files and of the headers that are sent with them. The page names it in the addresses of its files, and
// names all modules at once.
package console
