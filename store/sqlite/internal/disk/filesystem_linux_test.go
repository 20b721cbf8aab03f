package disk

import (
	"strings"
	"testing"
)

func TestNetworkName(t *testing.T) {
	// statfs(2); the last two are ext4 and tmpfs.
	for magic, want := range map[int64]string{
		0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "SMB", 0xFE534D42: "SMB", int64(int32(-0xacb2be)): "SMB",
		0xEF53: "", 0x01021994: "",
	} {
		if got := networkName(magic); got != want {
			t.Errorf("NetworkName(%#x) = %q, want %q", magic, got, want)
		}
	}
}

func TestParseMount(t *testing.T) {
	cases := []struct {
		line, point, fs string
		ok              bool
	}{
		{`36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw,errors=continue`, "/mnt", "ext3", true},
		{`90 35 0:51 / /home/kim/far\040away rw - fuse.sshfs kim@host:/ rw`, "/home/kim/far away", "fuse.sshfs", true},
		{`36 35 98:0 / /mnt rw`, "", "", false},
		{`36 35 98:0 / - ext3`, "", "", false},
		{`36 35 98:0 / /mnt - ext3`, "/mnt", "ext3", true},
		{`36 35 98:0 / /mnt rw - `, "", "", false},
		{``, "", "", false},
	}
	for _, c := range cases {
		point, fs, ok := parseMount(c.line)
		if point != c.point || fs != c.fs || ok != c.ok {
			t.Errorf("ParseMount(%q) = %q, %q, %t, want %q, %q, %t", c.line, point, fs, ok, c.point, c.fs, c.ok)
		}
	}
	for _, c := range []struct {
		dir, point string
		want       bool
	}{{"/a/b", "/", true}, {"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/..a", "/", true}} {
		if got := within(c.dir, c.point); got != c.want {
			t.Errorf("Within(%q, %q) = %t, want %t", c.dir, c.point, got, c.want)
		}
	}
}

// TestFuseNetworkName: of the mounts above a directory the nearest counts, and
// of those at one place the last, which hides the others.
func TestFuseNetworkName(t *testing.T) {
	const table = `1 0 0:1 / / rw - ext4 /dev/root rw
2 1 0:2 / /far rw - fuse.sshfs kim@host:/ rw
3 2 0:3 / /far/near rw - ext4 /dev/sdb rw
4 1 0:4 / /over rw - fuse.rclone remote: rw
5 1 0:5 / /over rw - fuse.gocryptfs /cipher rw
no mount
6 1 0:6 / /under rw - ext4 /dev/sdc rw
7 1 0:7 / /under rw - fuse.davfs2 https://host/ rw
`
	for dir, want := range map[string]string{
		"/": "", "/home": "", "/far": "sshfs", "/far/off": "sshfs", "/farther": "", "/far/near": "", "/far/near/by": "",
		"/over": "", "/under/a": "davfs2",
	} {
		if got := fuseNetworkName(dir, strings.NewReader(table)); got != want {
			t.Errorf("%s is on %q, want %q", dir, got, want)
		}
	}
}
