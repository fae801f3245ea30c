package git

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"tercet/internal/proc"
)

// Remote is a repository to push to.
type Remote struct {
	Name string
	Host string // empty for a folder
	Path string // path at the host, without .git
}

// Remotes lists the names of the remotes.
func (r *Repo) Remotes(ctx context.Context) ([]string, error) {
	out, err := r.read(ctx, "remote")
	return strings.Fields(string(out)), err
}

// DefaultBranch returns a remote's default branch; empty if it has none yet.
func (r *Repo) DefaultBranch(ctx context.Context, remote Remote) (string, error) {
	pairs, err := r.userConfig(ctx)
	if err != nil {
		return "", err
	}
	out, _, err := r.run(ctx, call{
		args: []string{
			"ls-remote", "--symref", "--upload-pack=git-upload-pack", "--", remote.Name, "HEAD",
		},
		config: pairs,
		online: true,
	})
	target, _, _ := strings.Cut(string(out), "\t")
	name, _ := strings.CutPrefix(target, "ref: "+branchPrefix)
	return name, err
}

// PushRemote finds the remote for a branch as git does: that of the branch, else the default, else
// the only one, else origin. It accepts https, ssh and folders outside the working tree.
func (r *Repo) PushRemote(ctx context.Context, to string) (remote Remote, err error) {
	found, err := r.Cache.answerOrAsk(r.configState(), "remote "+to, func() ([]string, error) {
		return r.findRemote(ctx, to)
	})
	if err != nil {
		return remote, err
	}
	return r.usableRemote(ctx, found[0], found[1])
}

// NamedRemote is the remote with a name. It accepts what PushRemote accepts.
func (r *Repo) NamedRemote(ctx context.Context, name string) (Remote, error) {
	found, err := r.Cache.answerOrAsk(r.configState(), "named "+name, func() ([]string, error) {
		names, err := r.Remotes(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) || CheckBranch(name) != nil {
			return nil, &RemoteError{
				fmt.Sprintf(
					"expected one of the remotes %s, got %q", strings.Join(names, ", "), name,
				),
				"add it: git remote add " + name + " URL",
			}
		}
		urls, err := r.read(ctx, "remote", "get-url", "--push", "--all", name)
		return []string{name, trimLine(urls)}, err
	})
	if err != nil {
		return Remote{}, err
	}
	return r.usableRemote(ctx, found[0], found[1])
}

// usableRemote returns the remote with an address, or a *RemoteError that says why it is not used.
func (r *Repo) usableRemote(
	ctx context.Context, name, address string,
) (remote Remote, err error) {
	remote, ok := parseAddress(address) // several addresses do not parse as one
	remote.Name = name
	if ok && remote.Host == "" {
		ok, err = r.isOutside(ctx, remote.Path)
	}
	switch {
	case err != nil || ok:
	case isRelative(address):
		err = &RemoteError{
			fmt.Sprintf("remote %s has the relative path %q, which names another folder in a "+
				"worktree: expected an absolute one", name, address),
			"change it: git remote set-url " + name + " /ABSOLUTE/PATH",
		}
	default:
		err = &RemoteError{
			fmt.Sprintf("remote %s is neither https, ssh nor a folder outside of the project",
				name),
			"change it: git remote set-url " + name + " URL",
		}
	}
	return remote, err
}

// findRemote finds the name and the address of the remote for a branch.
func (r *Repo) findRemote(ctx context.Context, to string) ([]string, error) {
	names, err := r.Remotes(ctx)

	name := ""
	for _, key := range []string{
		"branch." + to + ".pushRemote",
		"remote.pushDefault",
		"branch." + to + ".remote",
	} {
		args := []string{"config", "--get", key}
		value, _, configErr := r.run(ctx, call{args: args, okExits: []int{1}})
		name = cmp.Or(name, trimLine(value))
		err = errors.Join(err, configErr)
	}

	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, &RemoteError{
			"the repository has no remote",
			"add one: git remote add origin URL",
		}
	case (name == "" || name == ".") && len(names) == 1:
		name = names[0]
	case name == "" || name == ".":
		name = "origin"
	}

	if !slices.Contains(names, name) || CheckBranch(name) != nil {
		return nil, &RemoteError{
			fmt.Sprintf("expected one of the remotes %s to push to, got %q",
				strings.Join(names, ", "), name),
			"name it: git config remote.pushDefault NAME",
		}
	}

	urls, err := r.read(ctx, "remote", "get-url", "--push", "--all", name)
	return []string{name, trimLine(urls)}, err
}

// parseAddress parses the address of a remote; ok is false for an unsupported one.
func parseAddress(address string) (r Remote, ok bool) {
	scheme, rest, found := strings.Cut(address, "://")
	host, path, isSCP := strings.Cut(address, ":")
	switch {
	case strings.ContainsFunc(address, unicode.IsControl):
		return r, false
	case found && (scheme == "https" || scheme == "ssh"):
		u, err := url.Parse(address)
		if err != nil {
			return r, false
		}
		r.Host = u.Hostname()
		r.Path = u.Path
	case found && scheme == "file":
		return Remote{Path: rest}, filepath.IsAbs(rest)
	case found:
		return r, false
	case filepath.IsAbs(address):
		return Remote{Path: address}, true
	case isSCP && !strings.Contains(host, "/") && !strings.HasPrefix(path, ":"):
		r.Host = host[strings.LastIndexByte(host, '@')+1:]
		r.Path = path
	}

	r.Path = strings.TrimSuffix(strings.Trim(r.Path, "/"), ".git")
	if r.Host == "" || r.Path == "" {
		return r, false
	}
	isUnexpected := func(c rune) bool {
		return !strings.ContainsRune(".-_/", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}
	looksLikeOption := r.Host[0] == '-' || r.Path[0] == '-' || strings.Contains(address, ":-")
	return r, !looksLikeOption && !strings.ContainsFunc(r.Host+r.Path, isUnexpected)
}

// isRelative reports whether the address of a remote is a path that does not begin at the root.
func isRelative(address string) bool {
	return address != "" && !strings.ContainsFunc(address, unicode.IsControl) &&
		!strings.Contains(address, ":") && !filepath.IsAbs(address)
}

// isOutside reports whether a folder is in neither the working tree nor the repository. A folder
// there may have come with the project, and its hooks would run.
func (r *Repo) isOutside(ctx context.Context, dir string) (bool, error) {
	top, _, err := r.Locate(ctx)
	if err != nil {
		return false, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, &RemoteError{
			"there is no repository at " + dir,
			"change the address: git remote set-url",
		}
	}

	_, common := gitDirs(r.Dir)
	if filepath.Base(common) == ".git" { // the main checkout of a linked working tree
		common = filepath.Dir(common)
	}
	for _, inside := range []string{top, common} {
		rel, err := filepath.Rel(inside, real)
		if err != nil || filepath.IsLocal(rel) {
			return false, err
		}
	}
	return true, nil
}

// Push pushes a commit to a branch of the remote, never by force; pushing it again changes nothing.
// Settings of ssh and credentials come from the user's own configuration, never the repository's.
func (r *Repo) Push(ctx context.Context, remote Remote, commit, branch string) error {
	if err := CheckBranch(branch); err != nil {
		return err
	}
	return r.pushRef(ctx, remote, commit+":"+branchPrefix+branch)
}

// PushNew pushes a commit to a ref of tercet's own, which must not have another one.
func (r *Repo) PushNew(ctx context.Context, remote Remote, commit, ref string) error {
	name, own := strings.CutPrefix(ref, ownRefs)
	if err := CheckBranch(name); err != nil || !own {
		return &RefusedError{ref, remote.Name, "it is not below " + ownRefs}
	}
	options := append([]string{"--force-with-lease=" + ref + ":"}, noGCOptions(remote)...)
	return r.pushRef(ctx, remote, commit+":"+ref, options...)
}

// noGCOptions are options of a push to a folder that start no garbage collection there. A push of a
// branch still starts it.
func noGCOptions(remote Remote) []string {
	if remote.Host != "" {
		return nil
	}
	return []string{"--receive-pack=git -c receive.autoGC=false receive-pack"}
}

// RemoteOwnRefs lists tercet's own refs at the remote below a prefix that ends with a slash, with
// their commits.
func (r *Repo) RemoteOwnRefs(
	ctx context.Context, remote Remote, prefix string,
) (refs map[string]string, err error) {
	name, own := strings.CutPrefix(prefix, ownRefs)
	if err := CheckBranch(strings.TrimSuffix(name, "/")); err != nil || !own {
		return nil, badName("prefix below "+ownRefs, prefix)
	}
	pairs, err := r.userConfig(ctx)
	if err != nil {
		return nil, err
	}
	out, _, err := r.run(ctx, call{
		args: []string{
			"ls-remote", "--refs", "--upload-pack=git-upload-pack", "--", remote.Name, prefix + "*",
		},
		config: pairs,
		online: true,
	})

	refs = map[string]string{}
	for line := range strings.Lines(string(out)) {
		commit, ref, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok && strings.HasPrefix(ref, prefix) { // the pattern matches in other places too
			refs[ref] = commit
		}
	}
	return refs, err
}

// DeleteRemoteOwnRefs deletes refs of tercet's own at the remote that still point to these commits.
func (r *Repo) DeleteRemoteOwnRefs(
	ctx context.Context, remote Remote, refs map[string]string,
) error {
	const maxRefs = 100 // in one push, because the length of a command line is limited
	for names := range slices.Chunk(slices.Sorted(maps.Keys(refs)), maxRefs) {
		var deletions []string
		options := noGCOptions(remote)
		for _, ref := range names {
			name, own := strings.CutPrefix(ref, ownRefs)
			if err := CheckBranch(name); err != nil || !own {
				return badName("ref below "+ownRefs, ref)
			}
			if err := checkRev(refs[ref]); err != nil {
				return err
			}
			deletions = append(deletions, ":"+ref)
			options = append(options, "--force-with-lease="+ref+":"+refs[ref])
		}
		if err := r.pushRefspecs(ctx, remote, deletions, options...); err != nil {
			return err
		}
	}
	return nil
}

// ownRefs is the prefix of refs that no git of a user looks at.
const ownRefs = "refs/tercet/"

// FetchCommit fetches a commit that a ref of the remote names, by its hash. It moves no ref.
func (r *Repo) FetchCommit(ctx context.Context, remote Remote, commit string) error {
	pairs, err := r.userConfig(ctx)
	if err != nil {
		return err
	}
	_, _, err = r.run(ctx, call{
		args: []string{
			"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
			"--no-auto-maintenance", "--upload-pack=git-upload-pack", "--", remote.Name, commit,
		},
		revs:   []string{commit},
		config: pairs,
		online: true,
	})
	return err
}

// pushRef pushes a commit to a ref. refspec is COMMIT:REF.
func (r *Repo) pushRef(
	ctx context.Context, remote Remote, refspec string, options ...string,
) error {
	commit, _, _ := strings.Cut(refspec, ":")
	if err := checkRev(commit); err != nil {
		return err
	}
	return r.pushRefspecs(ctx, remote, []string{refspec}, options...)
}

// pushRefspecs pushes commits to refs (COMMIT:REF) and deletes refs (:REF).
func (r *Repo) pushRefspecs(
	ctx context.Context, remote Remote, refspecs []string, options ...string,
) error {
	pairs, err := r.userConfig(ctx)
	if err != nil {
		return err
	}

	args := append([]string{
		"push",
		"--porcelain",
		"--no-verify",
		"--no-signed",
		"--no-follow-tags",
		"--recurse-submodules=no",
		"--receive-pack=git-receive-pack",
	}, options...)
	args = append(args, "--", remote.Name)
	out, exit, err := r.run(ctx, call{
		args:    append(args, refspecs...),
		okExits: []int{1},
		config:  pairs,
		online:  true,
	})
	if err != nil || exit == 0 {
		return err
	}

	reason := "declined"
	for line := range strings.Lines(string(out)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if columns[0] == "!" && len(columns) > 2 {
			reason = columns[2]
		}
	}
	_, ref, _ := strings.Cut(refspecs[0], ":")
	return &RefusedError{strings.TrimPrefix(ref, branchPrefix), remote.Name, reason}
}

// userConfig is the configuration for network calls, from the files of the user and the system.
func (r *Repo) userConfig(ctx context.Context) ([]string, error) {
	return r.Cache.answerOrAsk(r.configState(), "user", func() ([]string, error) {
		return r.readUserConfig(ctx)
	})
}

func (r *Repo) readUserConfig(ctx context.Context) ([]string, error) {
	pairs := []string{"credential.helper", "", "push.pushOption", ""}
	ssh := "ssh -o BatchMode=yes"
	for _, scope := range []string{"--system", "--global"} {
		out, _, err := r.run(ctx, call{
			args: []string{
				"config", scope, "--includes", "-z", "--get-regexp",
				`^(credential\.|core\.sshcommand$)`,
			},
			okExits: []int{1, 128},
			system:  true, // exit 128: no such file
		})
		if err != nil {
			return nil, err
		}
		for _, rec := range records(out) {
			if key, value, _ := strings.Cut(rec, "\n"); key == "core.sshcommand" {
				ssh = value
			} else {
				pairs = append(pairs, key, value)
			}
		}
	}
	return append(pairs, "core.sshCommand", ssh, "credential.helper", "!gh auth git-credential",
		"credential.helper", "!glab auth git-credential"), nil
}

// Request is a pull or merge request for a branch.
type Request struct {
	Branch, To  string // it asks to merge Branch into To
	Commit      string // hash of the last commit of Branch
	Title, Body string
}

// HostCLI is an installed program that is logged in at a host and opens requests there.
type HostCLI struct {
	r      *Repo
	remote Remote
	tool   cliSpec
}

// cliSpec is how gh or glab is called, with placeholders for the values.
type cliSpec struct {
	name          string
	listRequests  string
	createRequest string
	viewIssue     string
	listIssues    string // empty: tercet opens no issues with it
	createIssue   string // empty: as above
	repoFlag      string
	openState     string // the state of an open request
	excludedHost  string // part of the names of hosts that it does not serve
}

// hostCLIs are the supported programs, in the order in which they are tried.
var hostCLIs = []cliSpec{
	{
		name: "gh",
		listRequests: "pr list --state=all --head=BRANCH " +
			"--json=url,state,headRefOid,baseRefName,isCrossRepository",
		createRequest: "pr create --head=BRANCH --base=TO --title=TITLE --body=BODY",
		viewIssue:     "issue view NUMBER --json=title,body,labels,url,state",
		listIssues:    "issue list --state=all --limit=200 --json=url,body",
		createIssue:   "issue create --title=TITLE --body=BODY",
		repoFlag:      "--repo=HOST/PATH",
		openState:     "OPEN",
		excludedHost:  "gitlab",
	},
	{
		name:         "glab",
		listRequests: "mr list --all --source-branch=BRANCH --output=json",
		createRequest: "mr create --source-branch=BRANCH --target-branch=TO --title=TITLE " +
			"--description=BODY --yes",
		viewIssue:    "issue view NUMBER --output=json",
		repoFlag:     "--repo=https://HOST/PATH",
		openState:    "opened",
		excludedHost: "github",
	},
}

// cliTimeout bounds one call of such a program.
const cliTimeout = time.Minute

// HostCLI finds the program for a remote's host; nil if none is installed and logged in. loggedOut
// is the name of the first one that is installed but not logged in, or empty.
func (r *Repo) HostCLI(
	ctx context.Context, remote Remote,
) (a *HostCLI, loggedOut string, err error) {
	for _, tool := range hostCLIs {
		if strings.Contains(remote.Host, tool.excludedHost) {
			continue
		}
		args := []string{"auth", "status"}
		if remote.Host != "" {
			args = append(args, "--hostname="+remote.Host)
		}
		_, _, err := r.run(ctx, call{
			prog:    tool.name,
			args:    args,
			online:  true,
			timeout: cliTimeout,
		})
		if err == nil {
			return &HostCLI{r, remote, tool}, "", nil
		}
		if !errors.As(err, new(*proc.NotFoundError)) {
			loggedOut = cmp.Or(loggedOut, tool.name)
		}
	}
	return nil, loggedOut, context.Cause(ctx)
}

func (a *HostCLI) run(ctx context.Context, words string, q Request) ([]byte, error) {
	if a.remote.Host != "" {
		words += " " + a.tool.repoFlag
	}
	fill := strings.NewReplacer(
		"BRANCH", q.Branch, "TO", q.To, "TITLE", q.Title, "BODY", q.Body, "HOST", a.remote.Host,
		"PATH", a.remote.Path,
	)
	args := strings.Fields(words)
	for i := range args {
		args[i] = fill.Replace(args[i])
	}
	out, _, err := a.r.run(ctx, call{
		prog:    a.tool.name,
		args:    args,
		online:  true,
		timeout: cliTimeout,
	})
	return out, err
}

// Find returns the URL of an existing request for the work: an open one, else one for exactly this
// commit; empty if there is none. A request from another repository counts only for exactly this
// commit, because its branch name proves nothing.
func (a *HostCLI) Find(ctx context.Context, q Request) (string, error) {
	out, err := a.run(ctx, a.tool.listRequests, q)
	if err != nil {
		return "", err
	}

	var list []struct {
		URL, State, HeadRefOid, SHA, BaseRefName string
		Web                                      string `json:"web_url"`
		Target                                   string `json:"target_branch"`
		IsCrossRepository                        bool
		From                                     int `json:"source_project_id"`
		Into                                     int `json:"target_project_id"`
	}
	if json.Unmarshal(out, &list) != nil {
		return "", badToolOutput(a.tool.name, "a list of requests", out)
	}

	found := ""
	for _, request := range list {
		isForeign := request.IsCrossRepository || request.From != request.Into
		isOpen := request.State == a.tool.openState && !isForeign
		isSameCommit := cmp.Or(request.HeadRefOid, request.SHA) == q.Commit
		if cmp.Or(request.BaseRefName, request.Target) != q.To || !isOpen && !isSameCommit {
			continue
		}
		address, ok := checkURL(cmp.Or(request.URL, request.Web))
		if ok && (isOpen || found == "") {
			found = address
		}
	}

	return found, nil
}

// Open opens a request and returns its URL.
func (a *HostCLI) Open(ctx context.Context, q Request) (string, error) {
	find := func() (string, error) { return a.Find(ctx, q) }
	return a.openOrFind(ctx, a.tool.createRequest, q, find)
}

// openOrFind opens a request or an issue and returns its URL. If the output of the program is
// unclear, find looks for it.
func (a *HostCLI) openOrFind(
	ctx context.Context,
	words string,
	q Request,
	find func() (string, error),
) (string, error) {
	out, err := a.run(ctx, words, q)
	printed := strings.Fields(string(out))
	if err == nil && len(printed) > 0 {
		if address, ok := checkURL(printed[len(printed)-1]); ok {
			return address, nil
		}
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}

	// The output is unclear, so check whether it exists.
	address, findErr := find()
	if findErr == nil && address != "" {
		return address, nil
	}
	if err == nil {
		what := "the address of a request"
		if q.Branch == "" {
			what = "the address of an issue"
		}
		err = badToolOutput(a.tool.name, what, out)
	}
	return "", err
}

// checkURL reports whether text is an address that can be shown to the user.
func checkURL(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return text, false
	}
	isWeb := u.Scheme == "https" || u.Scheme == "http"
	return text, isWeb && len(text) < 500 && !strings.ContainsFunc(text, unicode.IsControl)
}

// badToolOutput shows the first words of the output. It never shows part of a word, which may be a
// token that is masked only as a whole.
func badToolOutput(tool, want string, got []byte) error {
	const shown = 80
	text := string(got)
	if len(text) > shown {
		text = text[:strings.LastIndexFunc(text[:shown+1], unicode.IsSpace)+1]
	}
	if text == "" && len(got) > 0 {
		return fmt.Errorf("output of %s: expected %s, got %d bytes of something else",
			tool, want, len(got))
	}
	return fmt.Errorf("output of %s: expected %s, got %q", tool, want, text)
}
