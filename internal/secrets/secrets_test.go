package secrets_test

import (
	"strings"
	"testing"

	"tercet/internal/secrets"
)

// The parts of tokens are put together here, so that no scanner takes this file for a leak.
func TestLine(t *testing.T) {
	t.Parallel()
	run := strings.Repeat("aB3dE6gH", 6)
	drawn := "aB3dE6gHkL9mNpQr"
	for in, want := range map[string]string{
		"AK" + "IA" + "ABCDEFGH12345678":                        "cloud key",
		"x=AS" + "IA" + "ABCDEFGH12345678 y":                    "cloud key",
		"AK" + "IA" + "abcdefgh12345678":                        "",
		"key AI" + "za" + run[:35]:                              "cloud key",
		"gh" + "p_" + run[:36]:                                  "hosting token",
		"gh" + "p_" + run[:35]:                                  "",
		"github" + "_pat_" + run[:22]:                           "hosting token",
		"url: glpat" + "-" + run[:20]:                           "hosting token",
		"npm" + "_" + run[:36]:                                  "hosting token",
		"gh" + "o_" + run[:36]:                                  "hosting token",
		"gh" + "u_" + run[:36]:                                  "hosting token",
		"gh" + "s_" + run[:36]:                                  "hosting token",
		"gh" + "r_" + run[:36]:                                  "hosting token",
		"gh" + "x_" + run[:36]:                                  "",
		"token=github" + "_pat_11" + run[:10] + "_" + run[:30]:  "hosting token password or token",
		"my-github" + "_pat_" + run[:22]:                        "",
		"sk-" + "svcacct-" + run[:20]:                           "model key",
		"my_sk-" + run[:20]:                                     "",
		"xox" + "p-1234567890":                                  "chat token",
		"xox" + "z-1234567890":                                  "",
		"sk-" + run[:20]:                                        "model key",
		"sk-" + "ant-api03-" + run[:20]:                         "model key",
		"sk-" + "proj-" + run[:20]:                              "model key",
		"sk-" + "a-very-long-name-without-figures":              "",
		"task-" + "abcdefghij0123456789":                        "",
		"task-" + run[:20]:                                      "",
		"xox" + "b-1234567890":                                  "chat token",
		"sk" + "_live_" + run[:16]:                              "payment key",
		"rk" + "_live_" + run[:16]:                              "payment key",
		"-----BEGIN " + "PRIVATE KEY-----":                      "private key",
		"-----BEGIN OPENSSH " + "PRIVATE KEY-----":              "private key",
		"-----BEGIN ENCRYPTED " + "PRIVATE KEY-----":            "private key",
		"-----BEGIN PGP " + "PRIVATE KEY BLOCK-----":            "private key",
		"-----BEGIN RSA " + "PRIVATE KEY-----":                  "private key",
		"-----BEGIN PUBLIC KEY-----":                            "",
		`api_key = "` + drawn + `q9"`:                           "password or token",
		`"{\"to` + `ken\": \"` + drawn + `q9\"}"`:               "password or token",
		"API" + "KEY=" + drawn + "q9":                           "password or token",
		"  db_password: " + drawn + "q9":                        "password or token",
		`{"client_secret": "` + drawn + `q9"}`:                  "password or token",
		`{'pass` + `wd':'` + drawn + `q9'}`:                     "password or token",
		"password: ${DB_PASSWORD_FROM_VAULT}":                   "",
		"password: $DB_PASSWORD_FROM_VAULT1":                    "",
		"password: {{ vault_database_password1 }}":              "",
		"token = <your-token-of-32-characters1>":                "",
		"token = example-token-1234567890":                      "",
		"token = changeme-1234567890-abcdef":                    "",
		"secret := loadSecret(cfg.Path2, defaultName)":          "",
		"token = process.env.GITHUB_TOKEN_NAME;":                "",
		"password: config.database.password,":                   "",
		"secret_file: /etc/app/secrets1/database.conf":          "",
		`"secret": "./config/secrets1.production.yaml"`:         "",
		"token: aaaaaaaaaaaaaaaaaaaaaaaa":                       "",
		"l.token = l.source[start0 : l.offset-2]":               "",
		"- {token: BLOCK-MAPPING-START}":                        "",
		"token: short":                                          "",
		"the token = a word of prose and then another":          "",
		"ey" + "J" + run[:12] + ".eyJ" + run[:12] + "." + run:   "token",
		"postgres://app:" + run[:8] + "@db/app":                 "password in a URL",
		"postgres://app:${DB_PASSWORD}@db/app":                  "",
		"https://example.org:8443/a@b":                          "",
		"see https://host/path:with@sign and user:pw12345678@x": "",
		"": "",
		"export PATH=/usr/bin; keyboard=qwertzuiopasdfghjkl1234": "",
	} {
		var got []string
		for _, f := range secrets.Line("a/b.txt", 7, in) {
			got = append(got, f.Class)
			if f.File != "a/b.txt" || f.Line != 7 || len(f.Sum) != 64 {
				t.Errorf("Line(%q) = %+v, want its place and sum", in, f)
			}
			for _, said := range []string{f.String(), f.Allow()} {
				for at := 0; at+8 <= len(in); at++ {
					part := in[at : at+8]
					if strings.ContainsAny(part, "0123456789") && strings.Contains(said, part) {
						t.Errorf("Line(%q) tells the value: %s", in, said)
					}
				}
			}
		}
		masked := secrets.Mask(in, "[masked]")
		if (masked == in) != (want == "") || len(secrets.Line("a/b.txt", 7, masked)) > 0 {
			t.Errorf("Mask(%q) = %q, want its findings masked", in, masked)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, line string
		want       int
	}{
		{"web/.npmrc", "//registry/:_auth" + "Token=abcdefgh", 1},
		{"web/.npmrc", "//registry/:_auth" + "Token=${NPM_TOKEN}", 0},
		{"web/.npmrc", "save-exact=true", 0},
		{".netrc", "machine h login me password hunter2", 1},
		{"notes.txt", "machine h login me password hunter2", 0},
	} {
		if got := secrets.Line(c.file, 1, c.line); len(got) != c.want {
			t.Errorf("Line(%s, %q) = %v, want %d", c.file, c.line, got, c.want)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".env":                 true,
		"app/.env":             true,
		".env.production":      true,
		".ENV":                 true,
		"tls/server.pem":       true,
		"id_rsa":               true,
		"a.key":                true,
		"credentials":          true,
		"aws/credentials.json": true,
		"db.secret":            true,
		"x.p12":                true,
		"sub/id_ed25519":       true,
		".env.example":         false,
		".env.sample":          false,
		"server.pem.dist":      false,
		"tests/server.pem":     false,
		"a/fixtures/b/.env":    false,
		"examples/id_rsa":      false,
		"pkg/testdata/ca.key":  false,
		"credentials.go":       false,
		"environment":          false,
		"keyboard.go":          false,
		"id_rsa.pub":           false,
		".npmrc":               false,
		"key":                  false,
	} {
		if _, got := secrets.Name(name); got != want {
			t.Errorf("Name(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestGuarded: a result may hold no file of secrets, nor one of logins that has one.
func TestGuarded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, text string
		want       string // the finding; empty: none
	}{
		{".env", "", ".env: file of secrets"},
		{"web/.npmrc", "audit=false\n//localhost/:_authToken=abc\n", "web/.npmrc:2: login"},
		{".NPMRC", "//localhost/:_password=abc", ".NPMRC:1: login"},
		{".netrc", "machine localhost login me password abc", ".netrc:1: login"},
		{".npmrc", "//localhost/:_authToken=${TOKEN}", ""},
		{".npmrc", "registry=https://localhost/", ""},
		{".npmrc", "token = npm_" + strings.Repeat("a1B2", 9), ".npmrc:1: hosting token"},
		{".netrc", "machine localhost login me", ""},
		{"testdata/.npmrc", "//localhost/:_authToken=abc", ""},
		{".npmrc.example", "//localhost/:_authToken=abc", ""},
		{"a.txt", "//localhost/:_authToken=abc", ""},
	} {
		got := ""
		if f, ok := secrets.Guarded(c.file, func() string { return c.text }); ok {
			got = f.String()
		}
		if got != c.want {
			t.Errorf("Guarded(%q, %q) = %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	line := secrets.Finding{
		File: "a",
		Line: 3,
		Sum:  "ab",
	}
	name := secrets.Finding{File: "a"}
	for _, c := range []struct {
		a    secrets.Allowed
		f    secrets.Finding
		want bool
	}{
		{secrets.Allowed{File: "a", Sum: "AB"}, line, true},
		{secrets.Allowed{File: "b", Sum: "ab"}, line, false},
		{secrets.Allowed{File: "a"}, line, false},
		{secrets.Allowed{File: "a"}, name, true},
		{secrets.Allowed{File: "a", Sum: "ab"}, name, false},
	} {
		if got := c.a.Allows(c.f); got != c.want {
			t.Errorf("%+v.Allows(%+v) = %v, want %v", c.a, c.f, got, c.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a.txt", "password = 'x'")
	f.Add(".npmrc", "_authToken=x")
	f.Add("b", "eyJ://:@sk-AKIA")
	f.Fuzz(func(t *testing.T, file, text string) {
		for _, one := range secrets.Line(file, 1, text) {
			if one.Class == "" || one.Sum == "" {
				t.Errorf("Line(%q) = %+v", text, one)
			}
		}
		secrets.Name(file)
	})
}
