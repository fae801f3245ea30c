package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/project"
)

// The methods before which a session learns what there is now.
const (
	listPrompts   = "prompts/list"
	getPrompt     = "prompts/get"
	listResources = "resources/list"
)

// refreshLists makes a session know the commands and runs that there are when a client asks for
// them.
func (s *Server) refreshLists(of *sdk.Server) sdk.Middleware {
	known := &features{read: s.readResource}
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			var err error
			switch method {
			case listPrompts, getPrompt:
				err = s.withProject(ctx, func(p *project.Project) error {
					return known.prompts(of, p)
				})
			case listResources:
				err = s.withProject(ctx, func(p *project.Project) error {
					return known.resources(of, p)
				})
			}
			if err != nil {
				return nil, err
			}
			return next(ctx, method, r)
		}
	}
}

// withProject opens the project to read something of it.
func (s *Server) withProject(ctx context.Context, do func(p *project.Project) error) error {
	c := &call{server: s, notes: &notes{}}
	_, err := c.withProject(ctx, func() (fields, error) { return nil, do(c.project) })
	return err
}

// prompts gives a server a prompt for each command.
func (k *features) prompts(of *sdk.Server, p *project.Project) error {
	s, err := p.Session(project.Options{TellsBroken: true})
	if err != nil {
		return err
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	of.RemovePrompts(k.promptNames...)
	k.promptNames = nil
	for _, one := range s.Catalog.List() {
		if one.Hidden {
			continue
		}
		k.promptNames = append(k.promptNames, one.Name)
		prompt := &sdk.Prompt{Name: one.Name, Description: one.Description}
		usage := strings.TrimSpace(strings.TrimPrefix(one.Usage, "/"+one.Name))
		if usage != "" {
			prompt.Arguments = []*sdk.PromptArgument{{Name: promptArguments, Description: usage}}
		}
		of.AddPrompt(prompt, promptOf(one.Name))
	}
	return nil
}

// promptArguments is the argument of each prompt: the words behind the command.
const promptArguments = "arguments"

// promptOf is a prompt that has an agent run a command and follow it.
func promptOf(name string) sdk.PromptHandler {
	return func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		line := strings.TrimSpace("/" + name + " " + r.Params.Arguments[promptArguments])
		text := fmt.Sprintf("Call the tool run of tercet with the line %q. Do no part of its work "+
			"yourself. Then call show with wait until the run has ended or asks, and tell me what "+
			"came of it.", line)
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{
			Role:    "user",
			Content: &sdk.TextContent{Text: text},
		}}}, nil
	}
}
