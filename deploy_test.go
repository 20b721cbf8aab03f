package main_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A deployment is what a file of docs/fleet starts a worker with.
type deployment struct {
	args   []string
	env    map[string]string
	mounts []string // paths
	grace  string   // what it has after SIGTERM, in seconds
	passes string   // a line of the password file
	config string   // the collect.yaml that it brings
}

// TestDeployments holds the files of docs/fleet against the binary: its arguments, its
// variables, where they point to, and the line of the password file for the address.
func TestDeployments(t *testing.T) {
	binary := build(t)
	for name, d := range map[string]deployment{"compose": compose(t), "kubernetes": kubernetes(t)} {
		t.Run(name, func(t *testing.T) {
			run := func(args ...string) string {
				t.Helper()
				c := exec.Command(binary, args...)
				config := filepath.Join(t.TempDir(), "collect.yaml")
				if err := os.WriteFile(config, []byte(d.config), 0o600); err != nil {
					t.Fatal(err)
				}
				c.Env = []string{"HOME=" + t.TempDir()}
				for key, value := range d.env {
					if key == "COLLECT_CONFIG" {
						value = config
					}
					c.Env = append(c.Env, key+"="+value)
				}
				out, err := c.CombinedOutput()
				if err != nil {
					t.Errorf("collect %s: %v: %s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			if d.args[0] != "worker" {
				t.Errorf("it starts %q, want a worker", d.args)
			}
			run(append(d.args, "--help")...) // a flag that is not there is an error
			if said := run("config", "show", "--origin"); !strings.Contains(said, "env COLLECT_STATE") {
				t.Errorf("COLLECT_STATE is not where the state comes from: %s", said)
			}
			for _, key := range []string{"COLLECT_CONFIG", "PGPASSFILE"} {
				if !under(d.env[key], d.mounts) {
					t.Errorf("%s is %q, which is under none of %q", key, d.env[key], d.mounts)
				}
			}
			host, _, _ := strings.Cut(d.passes, ":")
			if want := "postgres://collect@" + host + "/collect"; d.env["COLLECT_STATE"] != want || !strings.HasPrefix(d.passes, host+":5432:collect:collect:") {
				t.Errorf("the state is %q, and the line of the password file %q", d.env["COLLECT_STATE"], d.passes)
			}
			if d.grace != "90" {
				t.Errorf("a worker has %q s for what is in flight, want 90, as in docs/fleet.md", d.grace)
			}
		})
	}
	unit, err := os.ReadFile("docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(unit, []byte("TimeoutStopSec=90\n")) {
		t.Error("the unit of docs/fleet.md gives a worker another time for what is in flight")
	}
	image, err := os.ReadFile("docs/fleet/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(image, []byte("COPY --from=build /collect /usr/local/bin/collect\n")) || !bytes.Contains(image, []byte(`ENTRYPOINT ["/usr/local/bin/collect"]`)) {
		t.Errorf("the image does not start what it has: %s", image)
	}
}

func under(path string, places []string) bool {
	for _, place := range places {
		if path == place || strings.HasPrefix(path, place+"/") {
			return true
		}
	}
	return false
}

func compose(t *testing.T) deployment {
	t.Helper()
	text, err := os.ReadFile("docs/fleet/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services struct {
			Postgres struct{ Environment map[string]string }
			Worker   struct {
				Build           struct{ Context, Dockerfile string }
				Command         []string
				Environment     map[string]string
				Secrets         []string
				Volumes         []string
				StopGracePeriod string `yaml:"stop_grace_period"`
			}
		}
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	w := file.Services.Worker
	d := deployment{args: w.Command, env: w.Environment, grace: strings.TrimSuffix(w.StopGracePeriod, "s"), config: "version: 1\n"}
	if _, err := os.Stat(filepath.Join("docs/fleet", w.Build.Context, w.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for _, secret := range w.Secrets {
		if file.Secrets[secret].File == "" {
			t.Errorf("there is no secret %s", secret)
		}
		d.mounts = append(d.mounts, "/run/secrets/"+secret)
	}
	for _, volume := range w.Volumes {
		d.mounts = append(d.mounts, strings.Split(volume, ":")[1])
	}
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, "with the line "); ok {
			d.passes = strings.TrimSpace(rest)
		}
	}
	if server := file.Services.Postgres.Environment; server["POSTGRES_USER"] != "collect" || server["POSTGRES_DB"] != "collect" {
		t.Errorf("the server has %v", server)
	}
	return d
}

func kubernetes(t *testing.T) deployment {
	t.Helper()
	text, err := os.ReadFile("docs/fleet/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type named struct{ Name string }
	type object struct {
		Kind       string
		Metadata   named
		StringData map[string]string `yaml:"stringData"`
		Data       map[string]string
		Spec       struct {
			Template struct {
				Spec struct {
					Grace      string `yaml:"terminationGracePeriodSeconds"`
					Containers []struct {
						Args         []string
						Env          []struct{ Name, Value string }
						VolumeMounts []struct {
							Name      string
							MountPath string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
					}
					Volumes []struct {
						Name      string
						ConfigMap named `yaml:"configMap"`
						Secret    struct {
							SecretName string `yaml:"secretName"`
						}
					}
				}
			}
		}
	}
	d, brought := deployment{env: map[string]string{}}, map[string]bool{}
	for decode := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := decode.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		brought[o.Kind+" "+o.Metadata.Name] = true
		switch o.Kind {
		case "Secret":
			d.passes = o.StringData["pgpass"]
		case "ConfigMap":
			d.config = o.Data["collect.yaml"]
		case "Deployment":
			pod := o.Spec.Template.Spec
			worker := pod.Containers[0]
			d.args, d.grace = worker.Args, pod.Grace
			for _, e := range worker.Env {
				d.env[e.Name] = e.Value
			}
			volumes := map[string]bool{}
			for _, v := range pod.Volumes {
				volumes[v.Name] = true
				if !brought["ConfigMap "+v.ConfigMap.Name] && !brought["Secret "+v.Secret.SecretName] {
					t.Errorf("the volume %s is of nothing that is there", v.Name)
				}
			}
			for _, m := range worker.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("there is no volume %s", m.Name)
				}
				d.mounts = append(d.mounts, m.MountPath)
			}
		}
	}
	return d
}
