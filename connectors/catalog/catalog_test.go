package catalog_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"collect/connectors/catalog"
	"collect/connectors/connectortest"
	"collect/connectors/declarative"
)

// options are what each connector needs to be built.
var options = map[string]map[string]string{
	"github":     {"org": "acme"},
	"pocketbase": {"collection": "posts", "url": "https://pb.test"},
	"stripe":     {},
}

func TestEveryFileIsSound(t *testing.T) {
	for _, name := range catalog.List() {
		src, err := catalog.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := declarative.Parse(name+".yaml", src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if spec.Name() != name {
			t.Errorf("%s.yaml is of the connector %s", name, spec.Name())
		}
		secrets := map[string]declarative.SecretValue{}
		for _, s := range spec.Secrets() {
			secrets[s.Name] = declarative.SecretValue{Value: "t0k"}
		}
		if _, err := spec.Build(declarative.Options{Params: options[name], Secrets: secrets}); err != nil {
			t.Errorf("%s: Build: %v", name, err)
		}
	}
	if want := []string{"github", "pocketbase", "stripe"}; !slices.Equal(catalog.List(), want) {
		t.Errorf("List() = %v, want %v", catalog.List(), want)
	}
	if _, err := catalog.Open("githbu"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a name that is not there: %v, want fs.ErrNotExist", err)
	}
}

// TestAgainstProviders walks each connector against a server that answers as
// the provider's documentation says.
func TestAgainstProviders(t *testing.T) {
	servers := map[string]http.HandlerFunc{
		"github": func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.Header.Get("X-Github-Api-Version") == "" || q.Get("per_page") != "100" {
				t.Errorf("github: request %s with %v", r.URL, r.Header)
			}
			switch r.URL.Path {
			case "/orgs/acme/repos":
				if q.Get("page") == "" {
					w.Header().Set("Link", `<http://`+r.Host+`/orgs/acme/repos?per_page=100&page=2>; rel="next"`)
					fmt.Fprint(w, `[{"id":1,"full_name":"acme/api","has_issues":true}]`)
					return
				}
				fmt.Fprint(w, `[{"id":2,"full_name":"acme/site","has_issues":false}]`)
			case "/repos/acme/api/issues", "/repos/acme/api/issues/comments":
				if since := q.Get("since"); !strings.HasSuffix(since, "Z") || q.Get("sort") != "updated" || q.Get("direction") != "asc" {
					t.Errorf("github: %s", r.URL.RawQuery)
				}
				fmt.Fprint(w, `[{"id":7,"number":1,"updated_at":"2024-05-06T07:08:09Z"},{"id":8,"number":2,"updated_at":"2024-05-06T07:09:09Z"}]`)
			default:
				t.Errorf("github: %s", r.URL.Path)
			}
		},
		"pocketbase": func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != "/api/collections/posts/records" || q.Get("perPage") != "200" || q.Get("skipTotal") != "1" {
				t.Errorf("pocketbase: %s", r.URL)
			}
			since := strings.TrimSuffix(strings.TrimPrefix(q.Get("filter"), `updated >= "`), `"`)
			var items []string
			for i := range 450 {
				if at := fmt.Sprintf("2024-05-06 07:%02d:%02d.123Z", i/60, i%60); at >= since && q.Get("page") == "1" && len(items) < 200 {
					items = append(items, fmt.Sprintf(`{"id":"r%014d","updated":"%s"}`, i, at))
				}
			}
			fmt.Fprintf(w, `{"page":1,"perPage":200,"totalItems":-1,"totalPages":-1,"items":[%s]}`, strings.Join(items, ","))
		},
		"stripe": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("starting_after") == "" {
				fmt.Fprint(w, `{"object":"list","data":[{"id":"x_3","created":1706659203},{"id":"x_2","created":1706659202}],"has_more":true}`)
				return
			}
			fmt.Fprint(w, `{"object":"list","data":[{"id":"x_1","created":1706659201}],"has_more":false}`)
		},
	}
	for _, name := range catalog.List() {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(servers[name])
			defer server.Close()
			src, _ := catalog.Open(name)
			spec, err := declarative.Parse(name+".yaml", src)
			if err != nil {
				t.Fatal(err)
			}
			secrets := map[string]declarative.SecretValue{}
			for _, s := range spec.Secrets() {
				secrets[s.Name] = declarative.SecretValue{Value: "t0k"}
			}
			c, err := spec.Build(declarative.Options{Params: options[name], Secrets: secrets, Provider: declarative.Overrides{BaseURL: server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			connectortest.Test(t, c, server.Client())
		})
	}
}
