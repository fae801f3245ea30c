package project

import (
	"slices"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
)

// InstalledAgents are the names of the agent CLIs on the user's PATH, in the order in which
// `runner: auto` takes them. Nothing is started for it.
func (h Host) InstalledAgents() []string {
	return agentcli.Installed(&proc.Starter{Env: []string{"PATH=" + h.Env("PATH")}})
}

// Login is how an agent CLI is logged in, as far as that can be seen without starting it.
type Login struct {
	By    string // the variable with a key, or the file with a login; empty: no login was seen
	IsKey bool   // By is a variable
	// Offer is a variable with a key that the user has set and the agent CLI would not get.
	Offer string
	Help  string // what helps if there is neither
}

// AgentLogin looks for the login of an agent CLI of this project.
func (p *Project) AgentLogin(name string) (Login, error) {
	drivers := agentcli.Drivers()
	i := slices.IndexFunc(drivers, func(d agentcli.Driver) bool { return d.Name == name })
	if i < 0 {
		return Login{},
			formats.Fail(formats.CodeBug, "", "no driver of an agent CLI is named %s", name)
	}

	driver := drivers[i]
	by := driver.LoggedIn(p.WorkerVariable)
	login := Login{By: by, IsKey: slices.Contains(driver.Keys, by)}
	if by != "" {
		return login, nil
	}

	set := func(name string) bool { return p.Host.Env(name) != "" }
	if key := slices.IndexFunc(driver.Keys, set); key >= 0 {
		login.Offer = driver.Keys[key]
		return login, nil
	}
	login.Help = driver.LoginHelp(p.Host.Env, p.WorkerVariable)
	return login, nil
}
