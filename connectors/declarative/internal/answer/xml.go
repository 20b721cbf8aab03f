package answer

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"collect/connectors/declarative/internal/paging"
)

// deepestXML is how many elements of XML may stand inside each other. Each level
// copies what is in it once.
const deepestXML = 200

// fromXML returns an XML document as an object with its one element:
//
//   - An element with text alone is that text, as it stands there; an empty one is "".
//   - Any other is an object: attributes as "@name", children by their names, and
//     text beside them as "#text", unless it is blank.
//   - Children of one name are an array, in their order; one alone is itself.
//
// Names are as written, with their prefix: "atom:link", "@xmlns". Comments and
// processing instructions are left out. Entities are those of XML itself.
func fromXML(body []byte) ([]byte, error) {
	body, err := checkText(body, "XML")
	if err != nil {
		return nil, err
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		return nil, nil
	}
	tokens := xml.NewDecoder(bytes.NewReader(body))
	root := &element{}
	open := []*element{root}
	for {
		token, err := tokens.RawToken()
		if err == io.EOF {
			break
		}
		if fault, ok := errors.AsType[*xml.SyntaxError](err); ok {
			return nil, paging.BadPage("line %d of the page is not valid XML", fault.Line)
		}
		if err != nil {
			return nil, paging.BadPage("the page is not XML in UTF-8")
		}
		at := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			if at == root && len(root.children) > 0 || len(open) > deepestXML {
				return nil, paging.BadPage("the page is not one XML element, with at most %d inside each other", deepestXML)
			}
			if len(token.Attr) > mostColumns {
				return nil, paging.BadPage("an element of the page has more than %d attributes", mostColumns)
			}
			inner := &element{name: nameOf(token.Name)}
			for _, attr := range token.Attr {
				inner.add("@"+nameOf(attr.Name), appendText(nil, attr.Value))
			}
			open = append(open, inner)
		case xml.EndElement:
			if len(open) == 1 || at.name != nameOf(token.Name) {
				return nil, paging.BadPage("the page is not valid XML: an element ends that did not begin")
			}
			open = open[:len(open)-1]
			open[len(open)-1].add(at.name, at.value())
			if len(open[len(open)-1].children) > mostColumns {
				return nil, paging.BadPage("an element of the page has children of more than %d names", mostColumns)
			}
		case xml.CharData:
			if at == root && len(bytes.TrimSpace(token)) > 0 {
				return nil, paging.BadPage("the page is not valid XML: text stands outside of its element")
			}
			at.text = append(at.text, token...)
		case xml.Directive:
			if bytes.ContainsRune(token, '[') {
				return nil, paging.BadPage("the page declares entities of its own (DOCTYPE), which are not read")
			}
		}
	}
	if len(open) > 1 {
		return nil, paging.BadPage("the page is not valid XML: it is cut off")
	}
	if len(root.children) == 0 {
		return nil, paging.BadPage("the page has no XML element")
	}
	return root.value(), nil
}

func nameOf(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// An element of XML while it is read.
type element struct {
	name     string
	children []child
	places   map[string]int // of the children by name, once there are many
	text     []byte
}

// A child is what an element has under one name, attributes included: values with
// commas between.
type child struct {
	name   string
	values []byte
	many   bool
}

func (e *element) add(name string, value []byte) {
	if at, ok := e.find(name); ok {
		c := &e.children[at]
		c.values, c.many = append(append(c.values, ','), value...), true
		return
	}
	if e.places != nil {
		e.places[name] = len(e.children)
	}
	e.children = append(e.children, child{name: name, values: value})
}

// fewChildren are found faster without a map.
const fewChildren = 16

func (e *element) find(name string) (at int, ok bool) {
	if e.places == nil && len(e.children) > fewChildren {
		e.places = map[string]int{}
		for i, c := range e.children {
			e.places[c.name] = i
		}
	}
	if e.places != nil {
		at, ok = e.places[name]
		return at, ok
	}
	for i, c := range e.children {
		if c.name == name {
			return i, true
		}
	}
	return 0, false
}

// value returns the element as JSON.
func (e *element) value() []byte {
	if len(e.children) == 0 {
		return appendText(nil, string(e.text))
	}
	doc := []byte{}
	for i, c := range e.children {
		doc = append(appendText(append(doc, "{,"[min(i, 1)]), c.name), ':')
		if c.many {
			doc = append(append(append(doc, '['), c.values...), ']')
		} else {
			doc = append(doc, c.values...)
		}
	}
	if len(bytes.TrimSpace(e.text)) > 0 {
		doc = appendText(append(doc, `,"#text":`...), strings.TrimSpace(string(e.text)))
	}
	return append(doc, '}')
}
