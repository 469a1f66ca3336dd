// Package template is being written.
package template
