package formats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/internal/lazy"
	"tercet/internal/nearest"
)

// handoff is the rules of a handoff document.
type handoff struct {
	profile  string
	title    string   // beginning of the heading; empty: any
	file     string   // its name
	legacy   []string // older file names
	keys     []keyRule
	sections []sectionRule
	seed     bool // the variant seed exists
	more     func(r *handoffReader)
}

// era is the variant of a document that a rule is for.
type era int

const (
	always era = iota
	currentOnly
	seedOnly
)

// valueKind is the form of a value.
type valueKind int

const (
	aText valueKind = iota
	aDate
	aBool
	aCount // an integer from 0
	aWord  // a word of a closed set
	aList
)

// header as the section of a key means the part above the first section.
const header = "\x00header"

// keyRule is the rule of one key.
type keyRule struct {
	name     string   // as written
	as       string   // name of the field; empty: derived from name
	also     []string // other spellings
	in       string   // section of the key; empty: anywhere
	kind     valueKind
	words    []string // of aWord
	same     []string // the same words in Japanese, in the same order
	required bool
	section  bool // the text of a section of that name also counts
	null     bool // of a payload: it may be null
	era      era
}

func (k *keyRule) field() string {
	if k.as != "" {
		return k.as
	}
	return fieldKey(k.name)
}

func (k *keyRule) is(key string) bool {
	same := func(name string) bool { return fieldKey(name) == key }
	return same(k.name) || slices.ContainsFunc(k.also, same)
}

// example is a valid value of the key.
func (k *keyRule) example() string {
	switch k.kind {
	case aDate:
		return "2026-01-31"
	case aBool:
		return "true"
	case aCount:
		return "0"
	case aWord:
		return k.words[0]
	case aText, aList:
	}
	return "..."
}

// parse parses a value. want is what was expected if it is invalid; help alone reports another
// spelling.
func (k *keyRule) parse(e entry) (v any, want, help string) {
	text := e.value
	switch k.kind {
	case aDate:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return nil, "a date such as 2026-01-31", ""
		}
	case aBool:
		at := slices.Index([]string{"true", "false", "yes", "no"}, text)
		if at < 0 {
			return nil, "true or false", ""
		}
		if at > 1 {
			help = fmt.Sprintf("write %t", at == 2)
		}
		return at%2 == 0, "", help
	case aCount:
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, "a whole number", ""
		}
		return n, "", ""
	case aWord:
		if at := slices.Index(k.same, text); at >= 0 {
			return k.words[at], "", ""
		}
		if !slices.Contains(k.words, text) {
			want = strings.Join(k.words, ", ")
			if len(k.words) > 1 {
				want = "one of " + want
			}
			return nil, want, nearest.Help(text, k.words)
		}
	case aList:
		return k.list(e)
	case aText:
		if e.items != nil {
			return Values(e.items), "", ""
		}
		if list, ok := parseBracketed(text); ok {
			return list, "", ""
		}
	}

	return text, "", ""
}

// list parses items below a key, or after it: in brackets, or with commas.
func (k *keyRule) list(e entry) (v any, want, help string) {
	out := Values(e.items)
	if e.items == nil && !slices.Contains(noneWords, strings.ToLower(e.value)) {
		out, _ = parseBracketed(strings.TrimSuffix(strings.TrimPrefix(e.value, "["), "]"))
	}
	if len(out) == 0 {
		return nil, "a list with at least one item", ""
	}
	return out, "", ""
}

// sectionRule is the rule of one section.
type sectionRule struct {
	name     string
	ja       string
	required bool
	nonEmpty bool // it has to say something
	era      era
}

// handoffOf returns the rules of a profile; ok is false for one without keys.
func handoffOf(name string) (h handoff, ok bool) {
	at := slices.IndexFunc(handoffs, func(h handoff) bool {
		return h.profile == name
	})
	if at < 0 {
		return h, false
	}
	return handoffs[at], true
}

// nameOf returns the rule's name of a section, else the text of its heading.
func (h *handoff) nameOf(heading string) string {
	text := strings.TrimSpace(headingSuffix().ReplaceAllString(
		headingNumber().ReplaceAllString(heading, ""),
		"",
	))
	for _, s := range h.sections {
		if _, same := canonical(text, []string{s.name, s.ja}); same {
			return s.name
		}
	}
	for _, k := range h.keys {
		if k.section && k.is(fieldKey(text)) {
			return k.name
		}
	}
	return text
}

var (
	headingNumber = lazy.Regexp(`^\d+(?:\.\d+)*[.)．]?[ \t]+`)
	headingSuffix = lazy.Regexp(`[ \t]*[(（][^()（）]*[)）][ \t]*$`)
)

func (h *handoff) section(name string) *sectionRule {
	for i := range h.sections {
		if h.sections[i].name == name {
			return &h.sections[i]
		}
	}
	return nil
}

// The closed sets of values.
var (
	productTypes = []string{"service", "tool", "library", "cli"}
	uiTypes      = []string{"web", "desktop", "cli-tui", "mobile", "none"}
	fourTiers    = []string{"Minimal", "Light", "Standard", "Full"}
	risks        = []string{"low", "medium", "high"}
	presences    = []string{"present", "absent", "N/A"}
	presencesJa  = []string{"あり", "なし", "該当なし"}
)

const (
	secArtifacts = "Artifacts"
	secTests     = "Test Results"
	secSecurity  = "Security Audit Results"
	secImpact    = "impact-analyzer Findings"
	secAudit     = "security-auditor Pre-audit Results"
	secHandoff   = "Handoff to delivery-flow"
	secReady     = "Deployment Readiness"
	secMade      = "Generated Deliverables"
	secOrder     = "Implementation Order"
	secApproval  = "Approval Mode"
)

// created and plan are keys of every header.
func created() keyRule {
	return keyRule{
		name: "Created",
		also: []string{"作成日"},
		in:   header,
		kind: aDate,
	}
}

func tierOf(flow string, tiers ...string) keyRule {
	name := flow + " Plan"
	also := []string{flow + " プラン", "plan", "プラン"}
	return keyRule{
		name:  name,
		as:    "plan",
		also:  also,
		in:    header,
		kind:  aWord,
		words: tiers,
	}
}

func productType() keyRule {
	return keyRule{
		name:     "PRODUCT_TYPE",
		kind:     aWord,
		words:    productTypes,
		required: true,
	}
}

func count(in, name string, also ...string) keyRule {
	return keyRule{
		name:     name,
		also:     also,
		in:       in,
		kind:     aCount,
		required: true,
	}
}

// handoffs is the table of the documents with keys.
var handoffs = []handoff{
	{
		profile: ProfileDiscovery,
		title:   "Discovery Result",
		file:    "DISCOVERY_RESULT.md",
		seed:    true,
		keys: []keyRule{
			created(), tierOf("Discovery", fourTiers...), productType(),
			{name: "HAS_UI", kind: aBool, required: true, era: currentOnly},
			{name: "UI_TYPE", kind: aWord, words: uiTypes, required: true, era: currentOnly},
		},
		sections: []sectionRule{
			{name: "Project Overview", ja: "プロジェクト概要", required: true, nonEmpty: true},
			{name: "Artifact Type", ja: "成果物の性質"},
			{name: "Requirements Summary", ja: "要件サマリー", required: true, nonEmpty: true},
			{name: "Scope", ja: "スコープ"},
			{name: "Technical Risks / Constraints", ja: "技術リスク・制約"},
			{name: "Unresolved Items", ja: "未解決事項"},
		},
		more: (*handoffReader).checkInterfaces,
	},
	{
		profile: ProfileDelivery,
		title:   "Delivery Result",
		file:    "DELIVERY_RESULT.md",
		keys: []keyRule{
			created(),
			tierOf("Delivery", fourTiers...),
			productType(),
			count(secTests, "Total", "合計"),
			count(secTests, "Pass", "成功"),
			count(secTests, "Fail", "失敗"),
			count(secSecurity, "CRITICAL"),
			count(secSecurity, "WARNING"),
		},
		sections: []sectionRule{
			{name: secArtifacts, ja: "成果物", required: true, nonEmpty: true},
			{name: "Tech Stack", ja: "技術スタック", required: true, nonEmpty: true},
			{name: secTests, ja: "テスト結果", required: true, nonEmpty: true},
			{name: secSecurity, ja: "セキュリティ監査結果", required: true, nonEmpty: true},
			{name: "Conditions", ja: "条件"},
			{name: "Handoff to Operations", ja: "Operations への引き継ぎ"},
			{name: "Overrides"},
		},
		more: (*handoffReader).readDelivery,
	},
	{
		profile: ProfileOperations,
		title:   "Operations Result",
		file:    "OPS_RESULT.md",
		legacy:  []string{"OPERATIONS_RESULT.md"},
		keys:    []keyRule{created(), tierOf("Operations", fourTiers[1:]...)},
		sections: []sectionRule{
			{name: secArtifacts, ja: "成果物一覧", required: true},
			{name: secReady, ja: "デプロイ準備状態", required: true},
			{name: "Unresolved Items", ja: "未解決事項"},
		},
		more: (*handoffReader).readOperations,
	},
	{
		profile: ProfileMaintenance,
		title:   "Maintenance Result",
		file:    "MAINTENANCE_RESULT.md",
		seed:    true,
		keys: []keyRule{
			created(), tierOf("Maintenance", "Major"),
			{
				name:  "Trigger type",
				in:    header,
				kind:  aWord,
				words: []string{"bug", "feature", "tech_debt", "performance", "security"},
			},
			{name: "Priority", in: header, kind: aWord, words: []string{"P1", "P2", "P3", "P4"}},
			{name: "PRODUCT_TYPE", kind: aWord, words: productTypes, required: true, section: true},
			{name: "TARGET_FILES", in: secImpact, kind: aList, required: true},
			{name: "REGRESSION_RISK", in: secImpact, kind: aWord, words: risks, required: true},
			count(secAudit, "CRITICAL"), count(secAudit, "WARNING"),
			{
				name:     "Recommended plan",
				in:       secHandoff,
				kind:     aWord,
				words:    fourTiers[2:],
				required: true,
			},
			{name: "Required pre-remediation items", as: "required_pre_remediation_items"},
			{name: "ARCHITECTURE.md impact", as: "architecture_impact"},
			{name: "Impact summary", required: true, section: true, era: seedOnly},
			{name: "Breaking changes", required: true, section: true, era: seedOnly},
			{
				name:     "Regression risk",
				kind:     aWord,
				words:    risks,
				required: true,
				section:  true,
				era:      seedOnly,
			},
		},
		sections: []sectionRule{
			{name: "Change Overview", required: true, nonEmpty: true},
			{name: "change-classifier Verdict"},
			{name: secImpact, required: true, era: currentOnly},
			{name: "analyst-core Differential Design Approach"},
			{name: secAudit, required: true},
			{name: secHandoff, required: true},
		},
	},
	{
		profile: ProfileDoc,
		title:   "Doc Flow Result",
		file:    "DOC_FLOW_RESULT.md",
		keys: []keyRule{
			created(), tierOf("Doc Flow", fourTiers...),
			{name: "Slug", required: true},
			{
				name:     "Output Language",
				also:     []string{"OUTPUT_LANG"},
				kind:     aWord,
				words:    []string{"ja", "en"},
				required: true,
			},
		},
		sections: []sectionRule{
			{name: secMade, required: true},
			{name: "Skipped Types", required: true},
			{name: "Suggested Next Steps", required: true, nonEmpty: true},
		},
		more: (*handoffReader).readDocFlow,
	},
	{
		profile:  ProfileArchitecture,
		file:     "ARCHITECTURE.md",
		keys:     []keyRule{{name: "Product Type", section: true}},
		sections: []sectionRule{{name: secOrder, ja: "実装順序"}},
		more:     (*handoffReader).readArchitecture,
	},
	{profile: ProfilePlanning, more: (*handoffReader).readPlanning},
	{profile: ProfileAutoApprove},
	{
		profile: ProfileRules,
		file:    "project-rules.md",
		keys: []keyRule{
			{name: "Output Language", kind: aWord, words: []string{"ja", "en"}},
			{name: "Product Type", kind: aWord, words: productTypes},
			{name: "Slug"},
			{
				name:  "Remote type",
				kind:  aWord,
				words: []string{"github", "gitlab", "gitea", "local-only"},
			},
			{name: "Co-Authored-By", as: "co_authored_by"},
		},
		sections: []sectionRule{{name: secApproval, ja: "承認モード"}},
		more:     (*handoffReader).checkRules,
	},
	{
		profile: ProfileSpec,
		file:    "SPEC.md",
		keys:    []keyRule{{name: "Product Type", kind: aWord, words: productTypes, section: true}},
		more:    func(r *handoffReader) { r.checkEmpty() },
	},
	{profile: ProfileTasks, file: "TASK.md", more: (*handoffReader).readTasks},
}
