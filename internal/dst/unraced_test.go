//go:build !race

package dst_test

const raced = false
