package mcp

import (
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

// features are what a session was given for the lists that change.
type features struct {
	read sdk.ResourceHandler

	mu           sync.Mutex
	promptNames  []string
	resourceURIs []string
}

// The URIs of what runs left: tercet://runs/RUN/log, tercet://runs/RUN/transcript and
// tercet://runs/RUN/documents/PATH.
const (
	runsURI        = "tercet://runs/"
	logPart        = "log"
	transcriptPart = "transcript"
	documentsPart  = "documents/"
)

// logURI is the URI of the log of a run: its events, and what its agents printed.
func logURI(run string) string {
	return runsURI + run + "/" + logPart
}

// transcriptURI is the URI of what the agents of a run said and did, to be read.
func transcriptURI(run string) string {
	return runsURI + run + "/" + transcriptPart
}

// documentURI is the URI of a file that a run made.
func documentURI(run, file string) string {
	return runsURI + run + "/" + documentsPart + (&url.URL{Path: file}).EscapedPath()
}

// resources gives a server the logs and documents of the newest runs.
func (k *features) resources(of *sdk.Server, p *project.Project) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	of.RemoveResources(k.resourceURIs...)
	k.resourceURIs = nil
	if p.Reader == nil {
		return nil
	}
	list, err := p.Runs(project.Filter{Most: someRuns})
	if err != nil {
		return err
	}

	add := func(uri, name, description, mime string) {
		k.resourceURIs = append(k.resourceURIs, uri)
		of.AddResource(&sdk.Resource{
			URI:         uri,
			Name:        plain.Line(name),
			Description: plain.Line(p.Mask.Values(description)),
			MIMEType:    mime,
		}, k.read)
	}

	for _, r := range list {
		add(logURI(r.ID), "log of "+r.ID, r.Line, plainMIME)
		add(transcriptURI(r.ID), "transcript of "+r.ID, r.Line, plainMIME)
		for _, file := range documentsOf(p, r.ID) {
			add(documentURI(r.ID, file), path.Base(file), r.Line, mimeOf(file))
		}
	}
	return nil
}

const plainMIME = "text/plain"

func mimeOf(file string) string {
	if path.Ext(file) == ".md" {
		return "text/markdown"
	}
	return plainMIME
}

// documentsOf are the files that the steps of a run made, without those of a damaged journal.
func documentsOf(p *project.Project, run string) []string {
	d, err := p.Detail(run)
	if err != nil {
		return nil
	}
	var out []string
	for _, step := range d.Steps {
		for _, file := range step.Files {
			if !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out
}

// addTemplates says which URIs can be read beside those of the list.
func (s *Server) addTemplates(to *sdk.Server) {
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: runsURI + "{run}/" + logPart,
		Name:        "log of a run",
		Description: "what a run did and what its agents printed, one event a line",
		MIMEType:    plainMIME,
	}, s.readResource)
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: runsURI + "{run}/" + transcriptPart,
		Name:        "transcript of a run",
		Description: "what the agents of a run said, and which tools they used, as text",
		MIMEType:    plainMIME,
	}, s.readResource)
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: runsURI + "{run}/" + documentsPart + "{+path}",
		Name:        "document of a run",
		Description: "a file that a step of the run made, as it is now",
	}, s.readResource)
}

// readResource reads what a URI names.
func (s *Server) readResource(
	ctx context.Context, r *sdk.ReadResourceRequest,
) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	var out *sdk.ReadResourceResult
	err := s.withProject(ctx, func(p *project.Project) error {
		text, mime, err := resourceText(ctx, p, uri)
		if err != nil {
			return err
		}
		out = &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
			URI:      uri,
			MIMEType: mime,
			Text:     plain.Text(p.Mask.Values(text)),
		}}}
		return nil
	})
	if errors.Is(err, errNoResource) || formats.CodeOf(err) == formats.CodeNotFound {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return out, err
}

// errNoResource means that a URI names nothing.
var errNoResource = errors.New("no such resource")

// maxResource bounds the text of a resource, in bytes. Of a longer log the end is given.
const maxResource = 1 << 20

// resourceText is the text behind a URI. A document must be one that a step of the run made: no
// other path is looked at.
func resourceText(
	ctx context.Context, p *project.Project, uri string,
) (text, mime string, err error) {
	rest, ok := strings.CutPrefix(uri, runsURI)
	run, part, found := strings.Cut(rest, "/")
	if !ok || !found || p.Reader == nil {
		return "", "", errNoResource
	}

	r, err := p.Find(run)
	if err != nil || r.ID != run {
		return "", "", errNoResource
	}

	switch part {
	case logPart:
		text, err = logText(p, run)
		return text, plainMIME, err
	case transcriptPart:
		text, err = p.Transcript(run, maxResource)
		return text, plainMIME, err
	}

	escaped, ok := strings.CutPrefix(part, documentsPart)
	file, err := url.PathUnescape(escaped)
	if !ok || err != nil || !slices.Contains(documentsOf(p, run), file) {
		return "", "", errNoResource
	}
	data, err := p.Docs.Open(ctx, file)
	if err != nil {
		return "", "", err
	}
	if len(data) > maxResource {
		return "", "", formats.Fail(formats.CodeLimit, "open the file itself",
			"%s has %d bytes, more than %d", file, len(data), maxResource)
	}
	return string(data), mimeOf(file), nil
}

// logText is the log of a run, or the end of it.
func logText(p *project.Project, run string) (string, error) {
	lines, _, err := p.Log(run, "").Lines()
	if err != nil {
		return "", err
	}
	size := 0
	from := len(lines)
	texts := make([]string, len(lines))
	for from > 0 && size <= maxResource {
		from--
		texts[from] = lines[from].String()
		size += len(texts[from]) + 1
	}
	return strings.Join(texts[from:], "\n"), nil
}
