package greeting

import "testing"

func TestHello(t *testing.T) {
	tests := []struct{ name, want string }{
		{"", "Hello!"},
		{"  ", "Hello!"},
		{"ann", "Hello, Ann!"},
		{" ben ", "Hello, Ben!"},
		{"McCoy", "Hello, McCoy!"},
		{"émile", "Hello, Émile!"},
		{"øyvind", "Hello, Øyvind!"},
		{"李", "Hello, 李!"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Hello(test.name); got != test.want {
				t.Errorf("Hello(%q) = %q, want %q", test.name, got, test.want)
			}
		})
	}
}
