module github.com/pagetools/pagetools

go 1.26.0
