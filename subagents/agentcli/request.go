package agentcli

import (
	"tercet/formats"
	"tercet/subagents/prompt"
)

// request is what the program reads: the request with what the engine adds to it. Times are in
// seconds.
type request struct {
	formats.Request
	Depth      int     `json:"depth"`
	Timeout    seconds `json:"timeout"`
	ReturnPath string  `json:"return_path"`
	Nonce      string  `json:"nonce,omitempty"`
	// what a model would be told, composed of the facets and all the rest
	Prompt    string `json:"prompt"`
	PromptSum string `json:"prompt_sha256"`
}

// seconds bounds the call; idle is 0 without a bound.
type seconds struct {
	Total float64 `json:"total_seconds"`
	Idle  float64 `json:"idle_seconds"`
}

func newRequest(r formats.Request, file, nonce string, told prompt.Prompt) request {
	return request{
		Request:    r,
		Depth:      r.Depth.Int(),
		Timeout:    seconds{r.Timeout.Total.Seconds(), r.Timeout.Idle.Seconds()},
		ReturnPath: file,
		Nonce:      nonce,
		Prompt:     told.Text,
		PromptSum:  told.SHA256,
	}
}
