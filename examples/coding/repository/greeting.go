// Package greeting says hello.
package greeting

import "strings"

// Hello greets somebody by name, and everybody when there is none.
func Hello(name string) string {
	name = strings.TrimSpace(name)
	if name == "" {
		return "Hello!"
	}
	return "Hello, " + capitalize(name) + "!"
}

// capitalize begins a name with a capital letter.
func capitalize(name string) string {
	return strings.ToUpper(name[:1]) + name[1:]
}
