// Package browser tries the page of 'tercet serve' in a real browser. It is tests alone.
//
// scripts/browser.sh builds the program and runs them: without its flags they are skipped. Each
// test has a workspace, a server and a browser of its own.
//
// It will not look at what the program does elsewhere, and the browser calls nobody but the server.
package browser
