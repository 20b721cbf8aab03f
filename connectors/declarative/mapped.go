package declarative

import (
	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// mapFailed begins the reason why a record is in quarantine of which `map` made
// nothing; what was wrong follows.
const mapFailed = "map: "

// mapped calls add with the records that `map` makes of an element, which was sent, or
// with the element and the reason why it makes none.
func (w *walk) mapped(data []byte, add func(data, sent []byte, reject string)) {
	if w.st.Map == nil || data[0] != '{' || int64(len(data)) > w.c.limits.Record || nestsDeeper(data, deepest) {
		add(data, nil, "")
		return
	}
	made, err := w.st.Map.Apply(data, w.c.limits.Record)
	if err != nil {
		add(data, nil, mapFailed+err.Error())
		return
	}
	for _, record := range made {
		add(record, data, "")
	}
}

// delivered returns how many records the provider sent on p beyond those that `map`
// left in s: a total counts these.
func (w *walk) delivered(p *paging.Page, s *collection.Slice) int64 {
	if w.st.Map == nil {
		return 0
	}
	return int64(len(p.Elements) - len(s.Records) - len(s.Rejected))
}
