package dialect

import (
	"fmt"
	"strings"
)

// tool is how one tool reads its files.
type tool struct {
	end       string // of the name of a command's file
	keys      string // of a command's head
	agentKeys string // of an agent's head, beside those that all tools have
	marks     []mark // in a text, before those in inner
	inner     []mark // also inside of commands and paths
	block     bool   // fenced blocks of commands
	fenced    bool   // marks count in code blocks too; else they are examples
	// a prompt ends where a command of it is not run; else it goes on without the output
	fails bool
	words func(raw string) []string
	empty bool // a word that is missing is empty; else its mark stands as it is written
	// instead are the marks without which the arguments are put behind the text; lead stands before
	// them, with NAME for that of the command.
	instead []PartKind
	lead    string
	rules   string // what the arguments mean, in one line; BASE is what the first one is called
	// settle completes a command after its text has been cut.
	settle func(c *Command, keys keySet, n *notes)
}

// tools has the tools but for Cursor, whose text is plain.
var tools = map[Dialect]tool{
	Claude: {
		end: ".md",
		keys: "description argument-hint argument_hint allowed-tools model " +
			"disable-model-invocation " +
			"name when_to_use arguments user-invocable disallowed-tools effort context agent " +
			"hooks " +
			"paths shell license compatibility metadata version positional-base",
		agentKeys: "disallowedTools permissionMode maxTurns skills mcpServers hooks memory " +
			"background effort " +
			"isolation color",
		marks: []mark{commandMark(false), fileMark},
		inner: []mark{
			escapeMark,
			indexMark,
			allMark,
			numberMark,
			nameMark,
			bracedMark(claudeVariable),
		},
		block:   true,
		fails:   true,
		words:   shellWords,
		instead: []PartKind{All},
		lead:    "ARGUMENTS: ",
		settle:  claudeSettle,
		rules: "$ARGUMENTS is the text as typed; $BASE is the first word; a word that is missing " +
			"stays as written; " +
			"without $ARGUMENTS the text goes to the end",
	},
	OpenCode: {
		end:  ".md",
		keys: "description agent model subtask variant",
		agentKeys: "mode variant temperature top_p steps maxSteps hidden disable disabled prompt " +
			"permission " +
			"color",
		marks:   []mark{commandMark(true), fileMark},
		inner:   []mark{allMark, numberMark},
		fenced:  true,
		words:   opencodeWords,
		empty:   true,
		instead: []PartKind{All, Nth},
		settle:  opencodeSettle,
		rules: "$ARGUMENTS is the text as typed; $1 is the first word, the highest number takes " +
			"the rest; " +
			"a word that is missing is empty; without any mark the text goes to the end",
	},
	Gemini: {
		end:       ".toml",
		keys:      "prompt description",
		agentKeys: "kind mcpServers temperature max_turns timeout_mins display_name",
		marks:     []mark{bracesMark("!", Shell), bracesMark("@", Include)},
		inner:     []mark{argsMark},
		instead:   []PartKind{All},
		lead:      "/NAME ",
		rules:     "{{args}} is the text as typed; without it the whole line goes to the end",
	},
	Codex: {
		end:     ".md",
		keys:    "description argument-hint argument_hint",
		inner:   []mark{dollarMark, allMark, digitMark, upperMark},
		words:   shellWords,
		instead: []PartKind{All, Nth, Named},
		rules: "$ARGUMENTS is the text as typed; $1 to $9 are words; $NAME needs NAME=value; " +
			"$$ is a dollar sign",
	},
	Copilot: {
		end:  ".prompt.md",
		keys: "name description argument-hint agent mode model tools",
		agentKeys: "argument-hint agents user-invocable disable-model-invocation target " +
			"mcp-servers handoffs " +
			"hooks metadata",
		inner:   []mark{bracedMark(copilotVariable)},
		words:   shellWords,
		instead: []PartKind{Named},
		settle:  copilotSettle,
		rules: "${input:name} needs name=value, or words in their order; further text goes to " +
			"the end",
	},
}

// toolFor gives the rules of a tool.
func toolFor(d Dialect) tool {
	if t, ok := tools[d]; ok {
		return t
	}
	return tool{
		end:   ".md",
		keys:  "description name",
		rules: "the text as typed goes to the end",
	}
}

// Keys lists the keys of command files of all tools.
func Keys() (all []string) {
	for _, t := range tools {
		all = append(all, strings.Fields(t.keys)...)
	}
	return append(all, "name", "positional-base")
}

// Rules explains in one line how the tool fills in arguments.
func (c *Command) Rules() string {
	return strings.Replace(toolFor(c.Dialect).rules, "$BASE", fmt.Sprintf("$%d", c.Base), 1)
}
