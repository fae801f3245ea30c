package checkup

// Grade is how serious a finding is.
type Grade string

// The grades.
const (
	Fine    Grade = "ok"
	Warning Grade = "warn" // works without it
	Failure Grade = "fail"
	Skipped Grade = "skip" // not checked, or not needed here
)

// Finding is the result of one check, and what to do about it.
type Finding struct {
	Name   string `json:"name"`
	Grade  Grade  `json:"grade"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
	Detail any    `json:"detail,omitempty"`
}

func okFinding(name, text string) Finding {
	return Finding{
		Name:  name,
		Grade: Fine,
		Text:  text,
	}
}

func warning(name, text, fix string) Finding {
	return Finding{
		Name:  name,
		Grade: Warning,
		Text:  text,
		Fix:   fix,
	}
}

func failure(name, text, fix string) Finding {
	return Finding{
		Name:  name,
		Grade: Failure,
		Text:  text,
		Fix:   fix,
	}
}

// skip is the finding of a check that was not made or is not needed here.
func skip(name, text string) Finding {
	return Finding{
		Name:  name,
		Grade: Skipped,
		Text:  text,
	}
}

const notAsked = "not asked: it would start a program"
