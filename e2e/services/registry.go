package services

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Registry is a container registry (distribution, as Debian ships it) that keeps
// its repositories in a folder.
type Registry struct {
	url   string
	root  string
	child *child
}

const registryConfig = `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %q}, delete: {enabled: true}}
http: {addr: "127.0.0.1:%d"}
`

// Repositories and tags at the start: more than a page of repositories, and one
// with more tags than that.
const (
	registryRepositories = 120
	registryTags         = 130
)

// StartRegistry starts a registry that keeps its data in dir, and pushes to it.
func StartRegistry(dir string) (*Registry, error) {
	program, err := find("docker-registry")
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, registryConfig, dir, port), 0o600); err != nil {
		return nil, err
	}
	r := &Registry{url: fmt.Sprintf("http://127.0.0.1:%d", port), root: filepath.Join(dir, "docker", "registry", "v2", "repositories")}
	if r.child, err = spawn(io.Discard, program, "serve", config); err != nil {
		return nil, err
	}
	if err := errors.Join(awaitPort(port, r.child.exited), r.fill()); err != nil {
		return nil, errors.Join(fmt.Errorf("registry: %w: %s", err, r.child.stderr), r.Close())
	}
	return r, nil
}

func (r *Registry) fill() error {
	for i := range registryRepositories {
		if err := r.push(fmt.Sprintf("acme/image-%03d", i), "1.0"); err != nil {
			return err
		}
	}
	for i := range registryTags {
		if err := r.push("acme/image-007", fmt.Sprintf("2.%d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) URL() string { return r.url }

func (r *Registry) Version() (string, error) {
	out, err := exec.Command("docker-registry", "--version").Output() // docker-registry github.com/docker/distribution 2.8.2+ds1
	version, _, _ := strings.Cut(strings.TrimSpace(string(out[bytes.LastIndexByte(out, ' ')+1:])), "+")
	return "distribution " + version, err
}

// push makes a tag of an image that is nothing but its configuration.
func (r *Registry) push(repository, tag string) error {
	blob := []byte("{}")
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(blob))
	at := r.url + "/v2/" + repository
	if resp, err := http.Head(at + "/blobs/" + digest); err != nil {
		return err
	} else if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		upload, err := http.Post(at+"/blobs/uploads/", "", nil)
		if err != nil {
			return err
		}
		upload.Body.Close()
		where, err := upload.Location()
		if err != nil {
			return err
		}
		where.RawQuery += "&digest=" + digest
		if err := r.send(http.MethodPut, where.String(), "application/octet-stream", blob); err != nil {
			return err
		}
	}
	const media = "application/vnd.docker.distribution.manifest.v2+json"
	return r.send(http.MethodPut, at+"/manifests/"+tag, media, fmt.Appendf(nil,
		`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},"layers":[]}`,
		media, len(blob), digest))
}

func (r *Registry) send(method, url, media string, body []byte) error {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", media)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, text)
	}
	return nil
}

// Stored walks the folder of the registry.
func (r *Registry) Stored() (Stored, error) {
	s := Stored{}
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "_manifests" {
			return err
		}
		name, err := filepath.Rel(r.root, filepath.Dir(path))
		if err != nil {
			return err
		}
		s.put("repositories", name, name)
		tags, err := os.ReadDir(filepath.Join(path, "tags"))
		for _, tag := range tags {
			s.put("tags", tag.Name(), name, tag.Name())
		}
		if err != nil {
			return err
		}
		return fs.SkipDir
	})
	return s, err
}

// Change pushes a tag and two repositories, one of them before all others, and
// deletes an image, whose repository then has no tags.
func (r *Registry) Change(round int) error {
	digest, err := r.digest(fmt.Sprintf("acme/image-%03d", round))
	if err != nil {
		return err
	}
	return errors.Join(
		r.push("acme/image-050", fmt.Sprintf("3.%d", round)),
		r.push(fmt.Sprintf("aaa/new-%d", round), "1.0"),
		r.push(fmt.Sprintf("zzz/new-%d", round), "1.0"),
		r.send(http.MethodDelete, fmt.Sprintf("%s/v2/acme/image-%03d/manifests/%s", r.url, round, digest), "", nil))
}

// digest returns that of the image 1.0 of a repository.
func (r *Registry) digest(repository string) (string, error) {
	link, err := os.ReadFile(filepath.Join(r.root, repository, "_manifests", "tags", "1.0", "current", "link"))
	return string(link), err
}

// Close ends the registry.
func (r *Registry) Close() error { return r.child.Close() }
