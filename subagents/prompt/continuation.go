package prompt

import "tercet/formats"

// continuation is the prompt for an agent that goes on in its session: what is new, the feedback,
// and where to return. A session also holds the nonce and the paths of earlier calls, so it says
// that these no longer count.
func continuation(in Input) []Facet {
	r := in.Request
	if len(r.Repair) == 0 {
		r.Facets.Instruction = in.News.Instruction
	} else {
		// the session has them since the call that is repaired
		r.Facets.Instruction = ""
		r.Facets.Messages = nil
		r.Feedback = nil
	}
	r.Refused = ""

	facets := []Facet{{Instruction, instruction(r) + "\n\n" + contractParts().Fill("go on", nil)}}
	news := Input{Request: formats.Request{Task: in.News.Task, Input: in.News.Input}}
	news.Request.Facets.Knowledge = in.News.Knowledge
	if in.News.Task != nil || len(in.News.Input) > 0 || len(in.News.Knowledge) > 0 {
		facets = append([]Facet{{Knowledge, knowledge(news)}}, facets...)
	}

	c := contractWriter{in}
	var s paragraphs
	s.add(c.documents())
	s.add(c.channel())
	s.add(contractParts().Fill("again", map[string]string{"nonce": code(in.Channel.Nonce)}))
	return append(facets, Facet{Output, s.String()})
}
