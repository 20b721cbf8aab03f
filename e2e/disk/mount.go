package disk

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount shows the disk at a directory until the returned function is called,
// which takes it away. It needs root.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	// Only the kernel changes the files here, so that it may believe its caches
	// for as long as the disk is mounted.
	forever := time.Hour
	server, err := fs.Mount(dir, &file{disk: d, node: d.root}, &fs.Options{
		EntryTimeout: &forever, AttrTimeout: &forever,
		RootStableAttr: &fs.StableAttr{Ino: d.root.number},
		MountOptions: fuse.MountOptions{
			FsName: "disk", Name: "disk", AllowOther: true, DirectMountStrict: true,
			DisableReadDirPlus: true, DisableXAttrs: true, MaxWrite: 128 << 10,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", dir, err)
	}
	return func() error {
		// What a dead process had open is closed a moment after it died.
		for deadline := time.Now().Add(5 * time.Second); ; {
			err := server.Unmount()
			if err == nil || time.Now().After(deadline) {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}, nil
}

// A file is a node that is mounted.
type file struct {
	fs.Inode
	disk *Disk
	node *node
}

var (
	_ fs.NodeStatfser  = (*file)(nil)
	_ fs.NodeLookuper  = (*file)(nil)
	_ fs.NodeReaddirer = (*file)(nil)
	_ fs.NodeMkdirer   = (*file)(nil)
	_ fs.NodeCreater   = (*file)(nil)
	_ fs.NodeUnlinker  = (*file)(nil)
	_ fs.NodeRmdirer   = (*file)(nil)
	_ fs.NodeRenamer   = (*file)(nil)
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
)

// locked begins a step (a look, if it has no name), and returns with the disk
// locked and what unlocks it. It is "defer unlock()" also after an error.
func (f *file) locked(step string) (syscall.Errno, func()) {
	f.disk.mu.Lock()
	if step == "" {
		return f.disk.look(), f.disk.mu.Unlock
	}
	return f.disk.step(step), f.disk.mu.Unlock
}

// show returns the mounted form of n, which is below f.
func (f *file) show(ctx context.Context, n *node, out *fuse.EntryOut) *fs.Inode {
	n.attributes(&out.Attr)
	return f.NewInode(ctx, &file{disk: f.disk, node: n}, fs.StableAttr{Mode: n.mode & syscall.S_IFMT, Ino: n.number})
}

func (n *node) attributes(out *fuse.Attr) {
	out.Ino, out.Mode, out.Nlink = n.number, n.mode, 1
	out.Size = uint64(len(n.content.now))
	out.Blksize, out.Blocks = pageSize, (out.Size+511)/512
	out.SetTimes(&n.changed, &n.changed, &n.changed)
}

// Statfs says that there is room for a gigabyte, always.
func (f *file) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<18, 1<<18, 1<<18
	return 0
}

func (f *file) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	errno, unlock := f.locked("")
	defer unlock()
	if errno != 0 {
		return nil, errno
	}
	n := f.node.names.now[name]
	if n == nil {
		return nil, syscall.ENOENT
	}
	return f.show(ctx, n, out), 0
}

func (f *file) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	errno, unlock := f.locked("")
	defer unlock()
	if errno != 0 {
		return nil, errno
	}
	var entries []fuse.DirEntry
	for _, name := range sortedKeys(f.node.names.now) {
		n := f.node.names.now[name]
		entries = append(entries, fuse.DirEntry{Name: name, Mode: n.mode, Ino: n.number})
	}
	return fs.NewListDirStream(entries), 0
}

func (f *file) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return f.make(ctx, "mkdir", name, syscall.S_IFDIR|mode&0o7777, out)
}

func (f *file) Create(ctx context.Context, name string, _ uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, errno := f.make(ctx, "create", name, syscall.S_IFREG|mode&0o7777, out)
	return inode, nil, fuse.FOPEN_KEEP_CACHE, errno
}

func (f *file) make(ctx context.Context, step, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	errno, unlock := f.locked(step)
	defer unlock()
	if errno != 0 {
		return nil, errno
	}
	n := f.disk.newNode(mode)
	f.node.names.now[name] = n
	return f.show(ctx, n, out), 0
}

func (f *file) Unlink(_ context.Context, name string) syscall.Errno {
	errno, unlock := f.locked("unlink")
	defer unlock()
	if errno == 0 {
		delete(f.node.names.now, name)
	}
	return errno
}

func (f *file) Rmdir(_ context.Context, name string) syscall.Errno {
	errno, unlock := f.locked("rmdir")
	defer unlock()
	switch {
	case errno != 0:
		return errno
	case len(f.node.names.now[name].names.now) > 0:
		return syscall.ENOTEMPTY
	}
	delete(f.node.names.now, name)
	return 0
}

// Rename gives a file another name, over what has that.
func (f *file) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	errno, unlock := f.locked("rename")
	defer unlock()
	n, dir := f.node.names.now[name], to.(*file).node
	switch {
	case errno != 0:
		return errno
	case flags != 0 || n.names != nil: // an exchange, or a directory that moves: no test needs them
		return syscall.EINVAL
	}
	delete(f.node.names.now, name)
	dir.names.now[newName] = n
	return 0
}

func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	errno, unlock := f.locked("")
	defer unlock()
	return nil, fuse.FOPEN_KEEP_CACHE, errno
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	errno, unlock := f.locked("")
	defer unlock()
	if errno != 0 {
		return nil, errno
	}
	now := f.node.content.now
	off = min(off, int64(len(now)))
	return fuse.ReadResultData(dest[:copy(dest, now[off:])]), 0
}

func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	errno, unlock := f.locked("write")
	defer unlock()
	if errno != 0 {
		return 0, errno
	}
	f.node.content.write(off, data)
	f.node.changed = time.Now()
	return uint32(len(data)), 0
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	errno, unlock := f.locked("fsync")
	defer unlock()
	switch {
	case errno != 0 && !f.disk.off && f.node.names == nil:
		f.node.content.syncFailed()
	case errno != 0:
	case f.node.names != nil:
		f.node.names.sync()
	default:
		f.node.content.sync()
	}
	return errno
}

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	errno, unlock := f.locked("")
	defer unlock()
	if errno == 0 {
		f.node.attributes(&out.Attr)
	}
	return errno
}

func (f *file) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	size, resized := in.GetSize()
	step := ""
	if resized {
		step = "truncate"
	}
	errno, unlock := f.locked(step)
	defer unlock()
	if errno != 0 {
		return errno
	}
	if resized {
		f.node.content.truncate(int64(size))
	}
	if mode, ok := in.GetMode(); ok {
		f.node.mode = f.node.mode&syscall.S_IFMT | mode&0o7777
	}
	if changed, ok := in.GetMTime(); ok {
		f.node.changed = changed
	}
	f.node.attributes(&out.Attr)
	return 0
}
