// Command greet says hello to whoever it is told about.
package main

import (
	"fmt"
	"os"

	"example.com/acme/greeting"
)

func main() {
	for _, name := range os.Args[1:] {
		fmt.Println(greeting.Hello(name))
	}
}
