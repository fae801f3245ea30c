//go:build linux && (amd64 || arm64)

package atomicfile_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"tercet/internal/atomicfile"
)

// injectEnv makes a child of the test binary run one case under a system call filter that answers a
// call with an errno.
const injectEnv = "ATOMICFILE_INJECT"

// Numbers that package syscall has not for both architectures.
const (
	prSetNoNewPrivs = 38
	seccompFilter   = 1
	seccompTSync    = 1
	retErrno        = 0x0005_0000
	retAllow        = 0x7fff_0000
	// stand for the numbers of the architecture, see number
	renameat2 = 1000
	linkat    = 1001
)

func number(call int) uint32 {
	arm := runtime.GOARCH == "arm64"
	switch {
	case call == renameat2 && arm:
		return 38 // renameat
	case call == renameat2:
		return 264 // renameat
	case call == linkat && arm:
		return 37
	case call == linkat:
		return 265
	}
	return uint32(call)
}

func seccompNumber() uintptr {
	if runtime.GOARCH == "arm64" {
		return 277
	}
	return 317
}

// when limits an injection by the arguments of the call.
type when int

const (
	always  when = iota
	across       // the first and the third argument differ: a rename from one directory to another
	newFile      // the third argument has O_EXCL
)

// inject makes every later call of this process fail with errno.
func inject(call int, errno syscall.Errno, cond when) error {
	stmt := func(code uint16, k uint32) syscall.SockFilter {
		return syscall.SockFilter{Code: code, K: k}
	}
	filter := []syscall.SockFilter{
		stmt(syscall.BPF_LD|syscall.BPF_W|syscall.BPF_ABS, 0),
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: number(call), Jt: 0, Jf: 4},
		stmt(syscall.BPF_LD|syscall.BPF_W|syscall.BPF_ABS, 16),
		stmt(syscall.BPF_MISC|syscall.BPF_TAX, 0),
		stmt(syscall.BPF_LD|syscall.BPF_W|syscall.BPF_ABS, 32),
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_X, Jt: 0, Jf: 1},
		stmt(syscall.BPF_RET|syscall.BPF_K, retAllow),
		stmt(syscall.BPF_RET|syscall.BPF_K, retErrno|uint32(errno)),
	}
	switch cond {
	case always:
		filter = []syscall.SockFilter{
			filter[0],
			{
				Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K,
				K:    number(call),
				Jt:   1,
				Jf:   0,
			},
			filter[6],
			filter[7],
		}
	case newFile:
		filter = []syscall.SockFilter{
			filter[0],
			{
				Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K,
				K:    number(call),
				Jt:   0,
				Jf:   2,
			},
			filter[4],
			{
				Code: syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K,
				K:    syscall.O_EXCL,
				Jt:   1,
				Jf:   0,
			},
			filter[6],
			filter[7],
		}
	case across:
	}

	prog := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0); e != 0 {
		return e
	}
	_, _, e := syscall.RawSyscall(
		seccompNumber(),
		seccompFilter,
		seccompTSync,
		uintptr(unsafe.Pointer(&prog)),
	)
	runtime.KeepAlive(filter)
	if e != 0 {
		return e
	}
	return nil
}

// limitFileSize limits the size of files, so that a write is cut short.
func limitFileSize(n uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

type injection struct {
	name  string
	do    func(root *os.Root) error
	op    string // of the *Error; empty for a *NotDurableError, "none" for success
	errno syscall.Errno
	want  map[string]string
}

func injections() []injection {
	old := map[string]string{"a": "old", "log": "1\n", "sub/": ""}
	with := func(changes map[string]string) map[string]string {
		m := maps.Clone(old)
		for k, v := range changes {
			m[k] = v
			if v == "gone" {
				delete(m, k)
			}
		}
		return m
	}
	first := func(call int, errno syscall.Errno, do func(*os.Root) error) func(*os.Root) error {
		return func(root *os.Root) error {
			if err := inject(call, errno, always); err != nil {
				return err
			}
			return do(root)
		}
	}
	write := func(root *os.Root) error {
		return atomicfile.WriteIn(root, "a", []byte("new"), atomicfile.Options{})
	}
	create := func(root *os.Root) error {
		return atomicfile.Create(root, "b", []byte("new"), 0)
	}
	big := []byte(strings.Repeat("x", 10_000))
	return []injection{
		{
			"sync of the temporary file",
			first(syscall.SYS_FSYNC, syscall.EIO, write),
			"sync",
			syscall.EIO,
			old,
		},
		{"rename", first(renameat2, syscall.EROFS, write), "rename", syscall.EROFS, old},
		{"open of the temporary file", func(root *os.Root) error {
			if err := inject(syscall.SYS_OPENAT, syscall.ENOSPC, newFile); err != nil {
				return err
			}
			return write(root)
		}, "create", syscall.ENOSPC, old},
		{"sync of the directory", func(root *os.Root) error {
			return atomicfile.WriteIn(root, "a", []byte("new"), atomicfile.Options{
				Before: func() error {
					return inject(syscall.SYS_FSYNC, syscall.EIO, always)
				},
			})
		}, "", syscall.EIO, with(map[string]string{"a": "new"})},
		{"file system without sync of directories", func(root *os.Root) error {
			return atomicfile.WriteIn(root, "a", []byte("new"), atomicfile.Options{
				Before: func() error {
					return inject(syscall.SYS_FSYNC, syscall.EINVAL, always)
				},
			})
		}, "none", 0, with(map[string]string{"a": "new"})},
		{"short write", func(root *os.Root) error {
			if err := limitFileSize(5000); err != nil {
				return err
			}
			return atomicfile.WriteIn(root, "a", big, atomicfile.Options{})
		}, "write", syscall.EFBIG, old},
		{"short append", func(root *os.Root) error {
			if err := limitFileSize(5000); err != nil {
				return err
			}
			return atomicfile.Append(root, "log", big, 0)
		}, "write", syscall.EFBIG, old},
		{"sync of an append", first(syscall.SYS_FSYNC, syscall.EIO, func(root *os.Root) error {
			return atomicfile.Append(root, "log", []byte("2\n"), 0)
		}), "sync", syscall.EIO, with(map[string]string{"log": "1\n2\n"})},
		{
			"create without hard links",
			first(linkat, syscall.EPERM, create),
			"none",
			0,
			with(map[string]string{"b": "new"}),
		},
		{
			"create without sync",
			first(syscall.SYS_FSYNC, syscall.EIO, create),
			"sync",
			syscall.EIO,
			old,
		},
		{"remove without sync", first(syscall.SYS_FSYNC, syscall.EIO, func(root *os.Root) error {
			return atomicfile.Remove(root, "a")
		}), "", syscall.EIO, with(map[string]string{"a": "gone"})},
		{
			"make a directory without sync",
			first(syscall.SYS_FSYNC, syscall.EIO, func(root *os.Root) error {
				return atomicfile.MkdirAll(root, "x/y", 0)
			}),
			"",
			syscall.EIO,
			with(map[string]string{"x/": "", "x/y/": ""}),
		},
		{"move across file systems", func(root *os.Root) error {
			if err := inject(renameat2, syscall.EXDEV, across); err != nil {
				return err
			}
			return atomicfile.Move(root, "a", "sub/a")
		}, "none", 0, with(map[string]string{"a": "gone", "sub/a": "old"})},
		{"back up without hard links", first(linkat, syscall.EPERM, func(root *os.Root) error {
			return atomicfile.BackupLoose(root, "a", "a.bak")
		}), "none", 0, with(map[string]string{"a.bak": "old"})},
	}
}

// TestInjected runs each case in a child of its own, because a filter stays for the life of a
// process.
func TestInjected(t *testing.T) {
	t.Parallel()
	for _, in := range injections() {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv(injectEnv) == "1" {
				injected(t, in)
				return
			}
			name := strings.ReplaceAll(in.name, " ", "_")
			cmd := exec.CommandContext(
				t.Context(),
				os.Args[0],
				"-test.run=^TestInjected$/^"+name+"$",
				"-test.v",
			)
			cmd.Env = append(os.Environ(), injectEnv+"=1")
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "no filter here") {
				t.Skip("system call filters are not allowed here")
			}
			if err != nil || !strings.Contains(string(out), "--- PASS: TestInjected/"+name) {
				t.Errorf("child: %v\n%s", err, out)
			}
		})
	}
}

func injected(t *testing.T, in injection) {
	t.Helper()
	dir, root := folder(t, map[string]string{"a": "old", "log": "1\n"})
	if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	got := in.do(root)
	if _, plain := got.(syscall.Errno); plain { //nolint:errorlint // one that is wrapped is what is looked for
		t.Skipf("no filter here: %v", got)
	}
	var n *atomicfile.NotDurableError
	switch in.op {
	case "none":
		if got != nil {
			t.Errorf("error = %v, want nil", got)
		}
	case "":
		if !errors.As(got, &n) || !errors.Is(got, in.errno) {
			t.Errorf("error = %v, want a *NotDurableError with %v", got, in.errno)
		}
	default:
		if errors.As(got, &n) || !errors.Is(got, in.errno) ||
			!strings.HasPrefix(got.Error(), in.op+" ") ||
			strings.Contains(got.Error(), "left behind") {
			t.Errorf("error = %v, want one of %s with %v", got, in.op, in.errno)
		}
	}

	wantTree(t, dir, in.want)
}
