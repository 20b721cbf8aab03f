package compile

import (
	"slices"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
)

// A Job is a job of the provider whose result a stream is.
type Job struct {
	Create, Poll request.Request
	Done, Failed *notation.Predicate // nil: nothing says that it failed
	Every        time.Duration       // between two polls, at least
	Result       notation.Path       // of the URL of the result, in the answer to a poll; not set: the stream has it
	Origins      []notation.Template // where a result may be, besides the API
}

// resultAlone is the path of a stream whose job says where its result is.
const resultAlone = "${result}"

// everyJob is how often a job is asked for that does not say so.
const everyJob = 30 * time.Second

// job compiles the job of a stream. inRequest are the names that its requests know.
func (c *checker) job(s *language.JobSpec, spec language.StreamSpec, inPath, inQuery known, st *Stream) {
	j := &Job{Every: everyJob, Result: s.Result, Origins: s.Origins}
	if s.Every.Set {
		j.Every = s.Every.Value
	}
	without := func(k known, names ...string) known {
		k.names = slices.DeleteFunc(slices.Clone(k.names), func(name string) bool { return slices.Contains(names, name) })
		return k
	}
	j.Create = c.request(s.At, "`job`", s.RequestSpec, without(inPath, "page", "job", "result"), without(inQuery, "page", "job", "result"))
	j.Create.Query = c.fields(inQuery, s.Query)
	j.Create.Headers = c.headers(inPath, c.doc.Provider.Headers, c.doc.Defaults.Headers, s.Headers)
	if at := s.Poll.At; at.Line > 0 {
		j.Poll = c.request(at, "`poll`", s.Poll.RequestSpec, without(inPath, "page", "result"), without(inQuery, "page", "result"))
		j.Poll.Query = c.fields(inQuery, s.Poll.Query)
		j.Poll.Headers = c.headers(inPath, c.doc.Provider.Headers, c.doc.Defaults.Headers, s.Headers, s.Poll.Headers)
	}
	if s.Done.Set {
		j.Done = notation.PredicateOf(&c.Decoder, s.Done, bodyNames)
	}
	if s.Failed.Set {
		j.Failed = notation.PredicateOf(&c.Decoder, s.Failed, bodyNames)
	}
	for _, o := range s.Origins {
		c.template(o, c.params)
	}
	switch {
	case j.Create.Method == "":
		c.Fail(s.At, "`job` is created with `post` or `put`", "")
	case !s.ID.Set, s.Poll.At.Line == 0, !s.Done.Set:
		c.Fail(s.At, "`job` needs `id`, `poll` and `done`: the path of its id, the path that says how far it is, and what it says then", "")
	case !j.Poll.Refers("job"):
		c.Fail(s.Poll.At, "`poll` asks for one job: ${job} is its id", "")
	case s.Result.Set != (st.Path.Text == resultAlone):
		c.Fail(s.At, "with `result`, the path of the URL of the result, the stream has get: ${result}; without it, `get` has ${job}", "")
	case !s.Result.Set && !st.Refers("job"):
		c.Fail(s.At, "the request of the stream asks for the result of its job: ${job} is the id", "")
	case st.Role == collection.Detail:
		c.Fail(s.At, "a detail is one record, and has no `job`", "")
	case spec.Windows != nil || st.Since != nil && (st.Since.Ordered || st.Since.Newest) || st.Size != nil:
		c.Fail(s.At, "beside `job`, a stream may have a `since` without an `order`, and neither `windows` nor the `size` of a page", "")
	}
	switch st.Page.(type) {
	case paging.OnePage, paging.ByCursor, paging.ByLastID:
		st.Page = paging.ByJob{Kind: st.Page, ID: s.ID}
	default:
		c.Fail(s.At, "the result of a job is one page, or has a `cursor` or a `last_id`", "")
	}
	st.Job = j
}
