// Package tools keeps the versions of the tools that make lint runs apart from what users of the
// library download.
package tools
