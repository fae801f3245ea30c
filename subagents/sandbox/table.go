package sandbox

// entry is what is known of some programs by their words alone.
type entry struct {
	// names are the programs; "git-VERB" is a verb of git, whose words are those behind it.
	names  string
	valued string // options that take a value
	// target is what a finding names: $0 the program, $1 and $2 its first words that are no options, $* all of these, $@
	// all words, $- the option that decided.
	target string
	// rows are tried in order; the first whose conditions hold counts.
	rows []row
}

// row is one case of an entry.
type row struct {
	// when is a list of conditions that must all hold, with "; " between them, each with what may satisfy it, separated by
	// blanks; see judgement.holds. Empty: always.
	when  string
	class string // category and level as in testdata/classes.txt; empty: nothing is to be said
	why   string
}

// Reasons that stand more than once.
const (
	whyPublish  = "publishes, or changes who may"
	whyFetch    = "fetches code and may run it at once"
	whyRemove   = "removes programs from this machine"
	whyInstall  = "installs programs on this machine"
	whyGit      = "throws away changes that are not committed"
	whyReflog   = "throws away what could be got back"
	whyFetches  = "fetches from another machine"
	whyData     = "changes or deletes data of the database that the project is set up for"
	whyShape    = "changes the database that the project is set up for"
	whyProd     = "works on a production database, by its name"
	whyServices = "changes which services run"
	whyImages   = "may fetch images and runs what is in them"
	whyElse     = "changes machines and services elsewhere"
	whyBox      = "opens the container to the machine it runs on"
	whyStore    = "asks a store of secrets for one"
)

const (
	packageOptions = "-C --prefix --cwd --dir -w --workspace -r --requirement -c -i --index-url --registry --manifest-path"
	cloudOptions   = "-n --namespace --context --kubeconfig --profile --region --project -R --repo --cluster -f " +
		"--filename -o --output"
	storeOptions  = "--context -n --namespace -o --profile --region"
	gitOptions    = "-m --message -b -B -c -C --source -s -x --exec -e --exclude"
	gitNetOptions = "-b --branch -o --origin --depth -u -c --config -j --jobs --filter --reference -m --message"
	databaseWords = "any: rds dynamodb sql cosmosdb redshift docdb spanner bigtable db d1; " +
		"text: *delete* *update* *modify* *put-* *reset* *restore* *execute* *push* *remove* *patch*"
)

// entries are in the order in which findings at the same place are told.
var entries = []entry{
	// what is lost
	{"zpool zfs diskutil btrfs", "", "$@", []row{
		{"1: *destroy* *erase* *artition* *labelclear*", "fs!", "destroys a file system"},
	}},
	{"mkfs mkfs.* mke2fs mkswap wipefs blkdiscard fdisk sfdisk gdisk sgdisk cfdisk parted badblocks lvremove " +
		"vgremove pvremove " +
		"mdadm", "-t -L", "$@", []row{
		{"-l --list -n --no-act", "", ""},
		{"!rest", "", ""},
		{"image", "", ""},
		{"", "fs!", "writes to a disk past its files"},
	}},
	{"cryptsetup", "-t -L", "$@", []row{
		{"-l --list -n --no-act", "", ""}, {"!rest", "", ""}, {"", "fs!", "writes to a disk past its files"},
	}},
	{"docker podman nerdctl", "--context -H --host -f --file -p", "$1 $2", []row{
		{"2: prune", "fs+", "deletes images, containers or volumes"},
		{"1: volume; 2: rm remove", "fs+", "deletes images, containers or volumes"},
		{"1: rmi", "fs+", "deletes images, containers or volumes"},
		{"1: compose rm; -v --volumes", "fs+", "deletes images, containers or volumes"},
	}},
	{"crontab", "-u", "", []row{
		{"-r", "fs!", "deletes every job of the person"},
		{"-l", "", ""},
		{"", "root+", "makes code run later, without anybody there"},
	}},
	{"git-clean", gitOptions, "$0", []row{
		{"-n --dry-run", "", ""}, {"-f --force", "fs+", "deletes files that are not under version control"},
	}},
	{"git-reset", gitOptions, "$0", []row{{"--hard --merge", "fs+", whyGit}}},
	{"git-checkout git-restore", gitOptions, "$0", []row{{"-f --force", "fs+", whyGit}, {`any: . :/ \*`, "fs+", whyGit}}},
	{"git-stash", gitOptions, "$0", []row{{"1: drop clear", "fs+", "throws away what was put aside"}}},
	{"git-branch git-tag", gitOptions, "$0", []row{{"-D", "fs-", "deletes a branch that may not be merged"}}},
	{"git-filter-branch git-filter-repo", gitOptions, "$0", []row{{"", "fs+", "rewrites the history"}}},
	{"git-reflog", gitOptions, "$0", []row{{"1: expire delete", "fs+", whyReflog}}},
	{"git-gc", gitOptions, "$0", []row{{"--prune=now --prune=all", "fs+", whyReflog}}},
	{"git-update-ref", gitOptions, "$0", []row{{"-d", "fs+", "deletes a reference"}}},
	{"git-config", gitOptions, "$0", []row{
		{"--global --system; 2: *", "fs+", "changes the settings of every project"},
		{"--global --system; --unset", "fs+", "changes the settings of every project"},
	}},

	// rights
	// visudo alone asks for rights that its caller has or has not, and edits with a person at it
	{"vigr vipw", "", "$@", []row{{"-V --version", "", ""}, {"", "root!", "changes who may act with the rights of root"}}},
	{"chmod", "", "$@", []row{
		{"1: *+*s* [2-7][0-7][0-7][0-7]", "root!", "lets everybody run it with the rights of its owner"},
	}},
	{"setcap capsh insmod modprobe rmmod kexec mount umount swapoff swapon losetup pivot_root", "", "$@", []row{
		{"args", "root!", "changes the rights or the state of the system"},
	}},
	{"useradd userdel usermod adduser deluser addgroup groupadd groupdel groupmod gpasswd passwd chpasswd chsh " +
		"dseditgroup " +
		"sysadminctl", "", "$@", []row{{"", "root!", "changes who may log in, or how"}}},
	{
		"iptables ip6tables nft ufw firewall-cmd pfctl setenforce aa-disable aa-complain auditctl csrutil spctl", "", "$@",
		[]row{
			{"-L --list -S --list-all --state", "", ""},
			{"1: list status", "", ""},
			{"args", "root!", "changes what protects this machine"},
		},
	},
	{"sysctl", "", "$@", []row{
		{"-w --write -p --system", "root!", "changes the kernel"}, {"text: *=*", "root!", "changes the kernel"},
	}},
	{"systemctl service rc-service launchctl initctl", "", "$@", []row{
		{"!any: start stop restart reload enable disable mask unmask kill edit isolate reboot poweroff halt " +
			"daemon-reload load " +
			"unload bootstrap bootout", "", ""},
		{"--user", "root+", whyServices},
		{"", "root!", whyServices},
	}},
	{"reboot shutdown halt poweroff telinit", "", "$@", []row{{"", "root!", "stops this machine"}}},
	{"init", "", "$@", []row{{"1: 0 1 6", "root!", "stops this machine"}}},
	{"at batch", "", "$@", []row{{"-l", "", ""}, {"", "root+", "makes code run later, without anybody there"}}},
	{"kill", "", "$@", []row{{"then: -1", "root!", "ends every program of the person"}}},
	{"docker podman nerdctl", "-v --volume --pid --userns --ipc --cap-add --security-opt", "$-", []row{
		{"--privileged --pid=host --userns=host --ipc=host --security-opt=*unconfined*", "root!", whyBox},
		{"--cap-add=ALL --cap-add=SYS_ADMIN --cap-add=SYS_PTRACE --cap-add=SYS_MODULE", "root!", whyBox},
		{"-v=/:* -v=*docker.sock* -v=/etc:* -v=/root:*", "root!", whyBox},
		{"--volume=/:* --volume=*docker.sock* --volume=/etc:* --volume=/root:*", "root!", whyBox},
	}},

	// package managers fetch code and often run it at once, or publish
	{"npm yarn pnpm bun", packageOptions, "$0 $*", []row{
		{"1: publish unpublish login adduser deprecate owner access token dist-tag", "net!", whyPublish},
		{
			"1: install i ci add update up upgrade audit exec dlx x create init outdated view info install-test import search",
			"net+", whyFetch,
		},
	}},
	{"yarn", packageOptions, "$0 $*", []row{{"!rest", "net+", whyFetch}, {"1: set", "net+", whyFetch}}},
	{"npx bunx uvx pipx", packageOptions, "$0 $*", []row{{"rest", "net+", whyFetch}}},
	{"pip pip2 pip3 uv poetry pdm conda mamba micromamba pipenv", packageOptions, "$0 $*", []row{
		{"1: publish upload", "net!", whyPublish},
		{"--no-index --offline", "", ""},
		{"1: install download add sync lock update upgrade create wheel search", "net+", whyFetch},
		{"1: pip; 2: install download add sync lock update upgrade create wheel search", "net+", whyFetch},
	}},
	{"gem bundle composer", packageOptions, "$0 $*", []row{
		{"1: push yank", "net!", whyPublish}, {"1: install update require add outdated fetch", "net+", whyFetch},
	}},
	{"cargo", packageOptions, "$0 $*", []row{
		{"1: publish login yank owner", "net!", whyPublish},
		{"--offline", "", ""},
		{"1: install fetch add update search binstall audit", "net+", whyFetch},
	}},
	{"go", packageOptions, "$0 $*", []row{
		{"1: get", "net+", whyFetch},
		{"1: install run; then: *@*", "net+", whyFetch},
		{"1: mod; 2: download tidy vendor", "net+", whyFetch},
	}},
	{
		"apt apt-get aptitude dnf yum apk brew pacman zypper snap flatpak port nix nix-env emerge rustup nvm pyenv sdk",
		packageOptions, "$0 $*",
		[]row{
			{"1: remove purge autoremove uninstall erase del rm", "fs+", whyRemove},
			{
				"1: install update upgrade dist-upgrade full-upgrade add reinstall tap shell run build toolchain refresh",
				"net+", whyInstall,
			},
		},
	},
	{"pacman", "", "$0 $*", []row{{"-R", "fs+", whyRemove}, {"-S -U", "net+", whyInstall}}},
	{"nix-env", "", "$0 $*", []row{{"-i", "net+", whyInstall}}},
	{"mvn gradle gradlew mvnw sbt", packageOptions, "$0 $*", []row{
		{"any: deploy publish release:perform uploadArchives", "net!", whyPublish},
		{"any: dependency:resolve dependency:go-offline", "net+", whyFetch},
	}},
	{"dotnet nuget", packageOptions, "$0 $*", []row{
		{"any: push", "net!", whyPublish}, {"1: restore install add", "net+", whyFetch},
	}},
	{"twine", packageOptions, "$0 $*", []row{{"1: upload", "net!", whyPublish}}},

	// machines and services elsewhere
	{"kubectl oc k9s helm helmfile", cloudOptions, "$0 $*", []row{
		{"!rest", "", ""},
		{"1: completion template lint version explain", "", ""},
		{"1: config; !--raw", "", ""},
		{
			"1: get describe logs top status list ls history search repo pull diff api-resources cluster-info show auth",
			"net+", "asks a cluster",
		},
		{"", "net!", "changes a cluster"},
	}},
	{"terraform tofu pulumi terragrunt cdk serverless sls sam", cloudOptions, "$0 $*", []row{
		{"1: apply destroy import taint untaint up deploy remove run-all", "net!", whyElse},
		{"1: state; 2: rm mv push", "net!", whyElse},
		{"1: plan init refresh preview diff get state output show", "net+", "asks machines and services elsewhere"},
	}},
	{"docker podman nerdctl docker-compose buildah skopeo", cloudOptions, "$0 $*", []row{
		{"1: push login", "net!", "publishes images"},
		{"1: compose buildx image container; 2: push login", "net!", "publishes images"},
		{"1: pull run build up create copy search bake", "net+", whyImages},
		{"1: compose buildx image container; 2: pull run build up create copy search bake", "net+", whyImages},
	}},
	{"aws gcloud az doctl heroku fly flyctl vercel netlify wrangler firebase supabase gh glab gsutil bq eksctl railway " +
		"linode-cli hcloud ibmcloud oci mc", cloudOptions, "$0 $*", []row{
		{"!rest", "", ""},
		{"1: help completion alias", "", ""},
		{"1: auth; 2: token", "", ""},
		{"looks; !-X --method", "net+", "asks a service elsewhere"},
		{"", "net!", "changes something at a service elsewhere"},
	}},
	{"ngrok cloudflared localtunnel lt bore tailscale", "", "$@", []row{{"", "net!", "opens this machine to others"}}},
	{"mail mailx sendmail mutt msmtp swaks", "", "$@", []row{{"", "net!", "sends mail"}}},
	{"ansible ansible-playbook fab salt pdsh pssh", "", "$@", []row{{"", "net!", "changes other machines"}}},
	{
		"ssh mosh ssh-copy-id sshpass autossh sshfs", "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", "$1",
		[]row{
			{"!rest", "", ""}, {"near", "", ""}, {"", "net!", "works on another machine"},
		},
	},
	{"git-push git-send-email git-svn", gitNetOptions, "$0 $*", []row{
		{"1: .* /* file://* ~*", "", ""},
		{"-f --force --force-with-lease --mirror --delete -d", "net!", "overwrites or deletes what is published"},
		{"any: +* :*", "net!", "overwrites or deletes what is published"},
		{"", "net!", "publishes commits"},
	}},
	{"git-clone git-fetch git-pull git-ls-remote", gitNetOptions, "$1", []row{
		{"1: .* /* file://* ~*", "", ""}, {"", "net+", whyFetches},
	}},
	{"git-remote", gitNetOptions, "$2", []row{{"1: update show prune", "net+", whyFetches}}},
	{"git-submodule git-lfs", gitNetOptions, "", []row{
		{"1: update add pull fetch sync", "net+", whyFetches}, {"1: push", "net!", "publishes files"},
	}},

	// what changes the shape of a database for a framework
	{"rails rake hanami", "--env -e --environment --config", "$0 $@", []row{
		{"!any: db:*", "", ""},
		{"prod", "db!", whyProd},
		{"any: db:*drop* db:*reset* db:*purge* db:*schema:load* db:*rollback* db:*truncate*", "db+", whyData},
		{"", "db-", whyShape},
	}},
	{"prisma", "--env -e --environment --config", "$0 $@", []row{
		{"!1: migrate db", "", ""},
		{"prod", "db!", whyProd},
		{"any: reset", "db+", whyData},
		{"--force-reset --accept-data-loss", "db+", whyData},
		{"", "db-", whyShape},
	}},
	{"artisan manage manage.py mix python python3 php npx node", "--env -e --environment --config", "$0 $@", []row{
		{"!base: migrate* flush dbshell loaddata sqlflush ecto.* db:*", "", ""},
		{"!text: artisan* manage* mix* *artisan* *manage.py* *prisma* *knex* *sequelize* *typeorm*", "", ""},
		{"prod", "db!", whyProd},
		{"base: *fresh* *reset* *wipe* *flush* *rollback* *drop* *refresh*", "db+", whyData},
		{"", "db-", whyShape},
	}},
	{
		"alembic flyway liquibase knex sequelize typeorm goose migrate dbmate sqlx diesel atlas sequelize-cli",
		"--env -e --environment --config", "$0 $@",
		[]row{
			{"!rest", "", ""},
			{"text: *history* *status* *current* *generate* *validate* *info*", "", ""},
			{"then: new* create*", "", ""},
			{"1: new* create*", "", ""},
			{"prod", "db!", whyProd},
			{"text: *down* *drop* *clean* *rollback* *reset* *undo* *revert* *force*", "db+", whyData},
			{"", "db-", whyShape},
		},
	},
	{"heroku", "", "$0 $@", []row{{"1: pg:*", "db!", whyProd}}},
	{"aws gcloud az", "", "$0 $@", []row{{databaseWords, "db!", whyProd}}},
	{"supabase wrangler", "", "$0 $@", []row{{"--linked --remote --db-url; " + databaseWords, "db!", whyProd}}},

	// what hands out secrets
	{"git-credential", "", "git credential", []row{{"1: fill", "secret!", "prints a password"}}},
	{"gh glab", storeOptions, "$0 $*", []row{
		{"1: auth; 2: token", "secret!", whyStore}, {"1: auth; --show-token", "secret!", whyStore},
	}},
	{"aws", storeOptions, "$0 $*", []row{
		{"1: configure; 2: get export-credentials", "secret!", whyStore},
		{"2: get-secret-value get-session-token assume-role get-login-password create-access-key", "secret!", whyStore},
		{"--with-decryption", "secret!", whyStore},
	}},
	{"gcloud", storeOptions, "$0 $*", []row{
		{"any: *print-access-token* *print-identity-token*", "secret!", whyStore},
		{"any: secrets; any: versions; any: access", "secret!", whyStore},
	}},
	{"az", storeOptions, "$0 $*", []row{
		{"any: *get-access-token*", "secret!", whyStore}, {"any: keyvault; any: secret; any: show", "secret!", whyStore},
	}},
	{"vault bao", storeOptions, "$0 $*", []row{{"2: list", "", ""}, {"1: read kv token login", "secret!", whyStore}}},
	{"kubectl oc", storeOptions, "$0 $*", []row{
		{"1: get describe; 2: *secret*", "secret!", whyStore}, {"1: config; --raw", "secret!", whyStore},
	}},
	{"op bw lpass keyring chamber doppler infisical secret-tool", storeOptions, "$0 $*", []row{
		{"1: read get item show lookup run export secrets exec search", "secret!", whyStore},
	}},
	{"pass gopass", storeOptions, "$0 $*", []row{{"!rest", "", ""}, {"!1: ls init git insert", "secret!", whyStore}}},
	{"security", storeOptions, "$0 $*", []row{{"1: find-* dump-keychain", "secret!", whyStore}}},
	{"gpg gpg2", storeOptions, "$0 $*", []row{{"--export-secret-keys --export-secret-subkeys", "secret!", whyStore}}},
	{"heroku", storeOptions, "$0 $*", []row{{"1: config*", "secret!", whyStore}}},
	{"set", "", "", []row{{"!args", "secret+", everyVariable}}},
}
