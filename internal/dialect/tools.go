package dialect

import (
	"fmt"
	"strings"
)

// tool is the set of rules of one tool.
type tool struct {
	suffix        string     // suffix of a command's file name
	keys          string     // keys of a command's head
	agentKeys     string     // keys of an agent's head besides the common ones
	marks         []markRule // marks in a text, tried before inner
	inner         []markRule // marks that are also read inside commands and paths
	blockCommands bool       // fenced blocks of commands
	marksInFences bool       // marks count in code blocks too; else they are examples
	// a refused command ends the prompt; else it continues without the output
	stopsOnRefusal bool
	words          func(raw string) []string
	emptyMissing   bool // a missing word is empty; else its mark stays as written
	// without any of these marks the arguments are appended to the text, after lead, in which NAME
	// is the command
	appendWithout []PartKind
	// instead of appendWithout: they are appended if no mark took a value of them
	appendUnfilled bool
	lead           string
	// what the arguments mean, in one line; BASE is what the first one is called
	rules string
	// finish completes a command after its text was parsed.
	finish func(c *Command, keys keySet, n *notes)
}

// tools has all tools but Cursor, whose text is plain.
var tools = map[Dialect]tool{
	Claude: {
		suffix: ".md",
		keys: "description argument-hint argument_hint allowed-tools model " +
			"disable-model-invocation " +
			"name when_to_use arguments user-invocable disallowed-tools effort context agent " +
			"hooks " +
			"paths shell license compatibility metadata version positional-base",
		agentKeys: "disallowedTools permissionMode maxTurns skills mcpServers hooks memory " +
			"background effort " +
			"isolation color",
		marks: []markRule{commandMark(false), fileMark},
		inner: []markRule{
			escapeMark,
			indexMark,
			allMark,
			numberMark,
			nameMark,
			bracedMark(claudeVariable),
		},
		blockCommands:  true,
		stopsOnRefusal: true,
		words:          shellWords,
		appendUnfilled: true,
		lead:           "ARGUMENTS: ",
		finish:         claudeFinish,
		rules: "$ARGUMENTS is the text as typed; $BASE is the first word; a word that is missing " +
			"stays as written; " +
			"where no mark takes a value, the text goes to the end",
	},
	OpenCode: {
		suffix: ".md",
		keys:   "description agent model subtask variant",
		agentKeys: "mode variant temperature top_p steps maxSteps hidden disable disabled prompt " +
			"permission " +
			"color",
		marks:         []markRule{commandMark(true), fileMark},
		inner:         []markRule{allMark, numberMark},
		marksInFences: true,
		words:         opencodeWords,
		emptyMissing:  true,
		appendWithout: []PartKind{All, Nth},
		finish:        opencodeFinish,
		rules: "$ARGUMENTS is the text as typed; $1 is the first word, the highest number takes " +
			"the rest; " +
			"a word that is missing is empty; without any mark the text goes to the end",
	},
	Gemini: {
		suffix:        ".toml",
		keys:          "prompt description",
		agentKeys:     "kind mcpServers temperature max_turns timeout_mins display_name",
		marks:         []markRule{bracesMark("!", Shell), bracesMark("@", Include)},
		inner:         []markRule{argsMark},
		appendWithout: []PartKind{All},
		lead:          "/NAME ",
		rules:         "{{args}} is the text as typed; without it the whole line goes to the end",
	},
	Codex: {
		suffix:        ".md",
		keys:          "description argument-hint argument_hint",
		inner:         []markRule{dollarMark, allMark, digitMark, upperMark},
		words:         shellWords,
		appendWithout: []PartKind{All, Nth, Named},
		rules: "$ARGUMENTS is the text as typed; $1 to $9 are words; $NAME needs NAME=value; " +
			"$$ is a dollar sign",
	},
	Copilot: {
		suffix: ".prompt.md",
		keys:   "name description argument-hint agent mode model tools",
		agentKeys: "argument-hint agents user-invocable disable-model-invocation target " +
			"mcp-servers handoffs " +
			"hooks metadata",
		inner:         []markRule{bracedMark(copilotVariable)},
		words:         shellWords,
		appendWithout: []PartKind{Named},
		finish:        copilotFinish,
		rules: "${input:name} needs name=value, or words in their order; further text goes to " +
			"the end",
	},
}

// toolFor returns the rules of a tool.
func toolFor(d Dialect) tool {
	if t, ok := tools[d]; ok {
		return t
	}
	return tool{
		suffix: ".md",
		keys:   "description name",
		rules:  "the text as typed goes to the end",
	}
}

// Keys lists the keys of command files of all tools.
func Keys() (all []string) {
	for _, t := range tools {
		all = append(all, strings.Fields(t.keys)...)
	}
	return append(all, "name", "positional-base")
}

// Rules explains in one line how the tool substitutes arguments.
func (c *Command) Rules() string {
	return strings.Replace(toolFor(c.Dialect).rules, "$BASE", fmt.Sprintf("$%d", c.Base), 1)
}
