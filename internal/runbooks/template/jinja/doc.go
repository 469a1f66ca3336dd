// Package jinja renders templates.
package jinja
