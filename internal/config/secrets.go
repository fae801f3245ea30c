package config

import (
	"encoding/hex"

	"tercet/internal/md"
	"tercet/internal/secrets"
	"tercet/internal/strict"
)

// secrets takes what the scan before a commit may let pass: {allow: [{file, sha256}]}.
func (l *loader) secrets(v *md.Node) {
	form := strict.Form{Unknown: `unknown key "` + keySecrets + `.%s"`, Keys: []string{"allow"}}
	for _, list := range l.Map(v, "a map with the key allow for "+keySecrets, form) {
		for _, item := range l.Items(list, "a list of findings for "+keySecrets+".allow") {
			if one := l.allowed(item); one.File != "" && l.first(keySecrets+"."+one.String(), item) {
				l.config.Secrets = append(l.config.Secrets, one)
			}
		}
	}
}

func (l *loader) allowed(item *md.Node) (one secrets.Allowed) {
	const of = keySecrets + ".allow"
	form := strict.Form{Unknown: `unknown key "` + of + `.%s"`, Keys: []string{"file", "sha256"}}
	bad := false
	for key, v := range l.Map(item, "a map with the keys file and sha256 for "+of, form) {
		var ok bool
		if key.Value == "file" {
			one.File, ok = strict.As(&l.Decoder, v, "path from the project's root for "+of, strict.Text(isFolder))
		} else {
			one.Sum, ok = strict.As(&l.Decoder, v, "64 hexadecimal digits for "+of, strict.Text(isSum))
		}
		bad = bad || !ok
	}
	if item.Kind == md.Map && one.File == "" && !bad {
		l.Wrong(item, "the key file for "+of, "")
	}
	if bad {
		return secrets.Allowed{}
	}
	return one
}

func isSum(s string) bool {
	sum, err := hex.DecodeString(s)
	return err == nil && len(sum) == 32
}
