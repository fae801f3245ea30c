package proc

import "os/exec"

// StartDetached starts a program of the user's desktop, such as a browser, and does not wait for
// it: it may outlive this process. Nothing of a project may decide which program that is. A program
// without a slash is looked up on PATH, without its relative entries. The error says that it did
// not start.
func StartDetached(argv, env []string) error {
	path, err := lookPath(env, "", argv[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(path) //nolint:noctx // it outlives its caller
	cmd.Args = argv
	cmd.Env = env
	setOwnSession(cmd)
	if err := cmd.Start(); err != nil {
		return wrapError(ErrStart, argv[0], err)
	}
	go func() { ignore(cmd.Wait()) }() // how a browser ends is no concern of ours
	return nil
}
