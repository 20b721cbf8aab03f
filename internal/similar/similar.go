// Package similar finds the name that a person probably meant.
package similar

import "strings"

// To returns the one of names that is nearest to word, or "" if none is near: at
// most a third of its letters differ, and no more than 3. Case does not count.
func To(word string, names []string) string {
	best, limit := "", min(3, len(word)/3)
	for _, name := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour (optimal string alignment).
func distance(a, b string) int {
	const longest = 64 // letters; no name that people are told is longer
	if len(a) > longest || len(b) > longest {
		return longest
	}
	d := make([][]int, len(a)+1) // d[i][j]: from the first i letters of a to the first j of b
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d[i][j] = min(replace, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
