package config

import (
	"tercet/internal/md"
	"tercet/internal/secrets"
	"tercet/internal/strict"
)

// secrets takes what the scan before a commit may let pass: {allow: [{file, sha256}]}.
func (l *loader) secrets(e entry) {
	form := strict.Form{Unknown: `unknown key "secrets.%s"`, Keys: []string{"allow"}}
	for list := range l.in(e, "a map with the key allow for "+e.name, form) {
		for _, item := range l.Items(list.v, "a list of findings for "+list.name) {
			one := l.allowed(entry{list.name, item, item})
			if one.File != "" && l.first(entry{e.name + "." + one.String(), item, item}) {
				l.config.Secrets = append(l.config.Secrets, one)
			}
		}
	}
}

func (l *loader) allowed(e entry) (one secrets.Allowed) {
	form := strict.Form{Unknown: `unknown key "` + e.name + `.%s"`, Keys: []string{"file", "sha256"}}
	bad := false
	for key, v := range l.Map(e.v, "a map with the keys file and sha256 for "+e.name, form) {
		var ok bool
		if at := (entry{e.name, key, v}); key.Value == "file" {
			one.File, ok = read(l, at, "path from the project's root", strict.Text(isFolder))
		} else {
			one.Sum, ok = read(l, at, "64 hexadecimal digits", strict.Text(sumForm.MatchString))
		}
		bad = bad || !ok
	}
	if e.v.Kind == md.Map && one.File == "" && !bad {
		l.Wrong(e.v, "the key file for "+e.name, "")
	}
	if bad {
		return secrets.Allowed{}
	}
	return one
}
