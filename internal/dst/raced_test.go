//go:build race

package dst_test

// raced: the race detector makes SQLite, which is Go here, ten times slower.
const raced = true
