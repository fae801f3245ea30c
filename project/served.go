package project

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/formats"
)

// ServerLock is the lock file of the process that serves a project.
const ServerLock = formats.Workspace + "/serve.lock"

// ClaimServer makes this process the one that serves the project, until the lock is closed. The
// error is LOCKED if another process does.
func (p *Project) ClaimServer() (io.Closer, error) {
	if p.Control.Claim == nil {
		return nil, NoWorkspace()
	}
	return p.Control.Claim(ServerLock)
}

// NameOf is a name for the project in a folder, among all of the user's: a hash of its real path.
func NameOf(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	const most = 16
	return formats.Sum([]byte(dir))[:most]
}

// Name is NameOf the project's folder.
func (p *Project) Name() string {
	return NameOf(p.Dir)
}

// sameFolder tells whether a path still leads to the folder that was opened.
func sameFolder(dir string, opened fs.FileInfo) (bool, error) {
	now, err := os.Stat(dir)
	return err == nil && os.SameFile(now, opened), err
}
