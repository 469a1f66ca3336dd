// Package console serves the console, the page that people use in a browser.
//
// The folder web has all files for browsers: plain modules, styles and one page. They are embedded unchanged, so a browser runs the files of the
// repository. There is no build step.
//
// The page uses the routes of the API with the key of its tab, so the server trusts it no more than any other client. It runs under a policy that
// allows only its own modules.
//
// # Addresses and caches
//
//	/                        the page; a browser revalidates it each time
//	/console/{release}/file  a file; a browser keeps it for a year
//
// The release is a digest of all files and of the headers that are sent with them. The page names it in the addresses of its files, and
// names all modules at once.
package console
