package declarative

// For the fuzz tests and benchmarks of what eats foreign input.
var (
	LinkTarget = linkTarget
	CheckJSON  = checkJSON
	Elements   = elements
)

// CompareMarks orders two marks as since does.
func CompareMarks(a, b string) int { return newMark(a).compare(newMark(b)) }
