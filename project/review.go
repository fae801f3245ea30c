package project

import (
	"context"
	"errors"

	"tercet/formats"
)

// TrustReview is what the user is asked to agree to: files that can start programs.
type TrustReview struct {
	Dir     string
	Digest  string // of exactly these files
	By      string // who trusts the project already; empty: nobody
	Files   []ReviewedFile
	Pending int // files that the user has not agreed to
}

// ReviewedFile is a file that can start programs.
type ReviewedFile struct {
	Path    string
	Kind    string // new, changed, or trusted
	SHA256  string
	LeadsTo string   // what it starts, or whom it names
	Changes []string // since the user agreed to it, as lines of a diff
	Problem string   // why it cannot be read
}

// maxReviewLines bounds the lines of a diff in a review.
const maxReviewLines = 200

// ReviewTrust reads the files of the project that can start programs, as they are now.
func (p *Project) ReviewTrust(ctx context.Context) (TrustReview, error) {
	out := TrustReview{Dir: p.Dir}
	err := p.withFreshSession(ctx, Options{TellsBroken: true}, func(s *Session) error {
		v, err := s.Project.Trust.Verdict()
		if err != nil {
			return err
		}
		out.Digest = v.Manifest.Hash()
		out.By = v.By
		for _, c := range v.All() {
			f := ReviewedFile{
				Path:    c.Path,
				Kind:    c.Kind,
				SHA256:  c.SHA256,
				LeadsTo: s.LeadsTo(v, c),
				Problem: c.Problem,
			}
			if c.Kind != "trusted" {
				out.Pending++
				f.Changes = v.Difference(c, maxReviewLines)
			}
			out.Files = append(out.Files, f)
		}
		return nil
	})
	return out, err
}

// AgreeTrust agrees, in the name of the user, to exactly the files whose digest the user saw.
func (p *Project) AgreeTrust(ctx context.Context, digest string) error {
	if err := p.Host.MayCommand(); err != nil {
		return err
	}
	return p.withFreshSession(ctx, Options{TellsBroken: true}, func(s *Session) error {
		v, err := s.Project.Trust.Verdict()
		if err != nil {
			return err
		}
		if v.Manifest.Hash() != digest {
			return formats.Fail(formats.CodePrecondition, "look at them, and agree again",
				"the files are not those that were shown")
		}
		if err := s.Project.Trust.Agree(v); err != nil {
			p.note("warning: the answer holds for this process only: %v", err)
		}
		return nil
	})
}

// withFreshSession opens the project once more, with the files as they are now, and calls do with a
// session of it.
func (p *Project) withFreshSession(ctx context.Context, o Options, do func(*Session) error) error {
	fresh, err := Open(ctx, p.Dir, p.HasWorkspace, p.Host)
	if err != nil {
		return err
	}
	s, err := fresh.Session(o)
	if err == nil {
		err = do(s)
	}
	return errors.Join(err, fresh.release())
}

// WithFreshSession reads the commands and subagents as they are now, and gives them to a function.
// The session ends with it.
func (p *Project) WithFreshSession(ctx context.Context, do func(*Session) error) error {
	return p.withFreshSession(ctx, Options{TellsBroken: true}, do)
}
