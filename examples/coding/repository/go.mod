module example.com/acme/greeting

go 1.24
