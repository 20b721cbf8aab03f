package answer

// appendText appends a text to a JSON document. What need not be escaped is not.
func appendText(doc []byte, text string) []byte {
	const digits = "0123456789abcdef"
	doc = append(doc, '"')
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		doc = append(doc, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			doc = append(doc, '\\', c)
		case '\n':
			doc = append(doc, `\n`...)
		case '\t':
			doc = append(doc, `\t`...)
		case '\r':
			doc = append(doc, `\r`...)
		default:
			doc = append(doc, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(doc, text[from:]...), '"')
}
