package yamlfile

import "fmt"

// MostNested bounds the brackets, and the dashes of one line, that are open at
// once in a YAML file. Files that people write have fewer than ten; the parser
// takes memory for the square of their number.
const MostNested = 100

// TooNested returns where a YAML file nests deeper than [MostNested]; line 0 if
// it does not. It looks at bytes alone, also in texts and comments.
func TooNested(src []byte) (line, column int) {
	open, dashes := 0, 0
	line = 1
	for i, start := 0, 0; i < len(src); i++ {
		switch b := src[i]; b {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case '-', '?', ':':
			if dashes++; i+1 < len(src) && src[i+1] != ' ' {
				dashes = 0 // it opens nothing, as in a line of dashes
			}
		case ' ', '\t':
		case '\n':
			line, start, dashes = line+1, i+1, 0
		default:
			dashes = 0
		}
		if open > MostNested || dashes > MostNested {
			return line, i - start + 1
		}
	}
	return 0, 0
}

// nested is the mistake of a file that nests too deep.
var nested = fmt.Sprintf("more than %d brackets or dashes are open here", MostNested)
