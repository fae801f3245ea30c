package sandbox

// rules tell what programs do by the words that they are started with. They are tried in this order, which is that of
// the findings at one place.
//
// An entry begins a line with the programs that it is about: "git-VERB" is a verb of git, "/code" is code of another
// language. Behind | stand the options that take a value (@NAME: those of the list of that name; ^: the first word that
// is no option ends them). Behind another | stands what a finding names: $0 the program, $1 and $2 its first words
// that are no options, $* all of these, $@ all words, $- the option or word that decided.
//
// A row stands behind a tab. The first row of an entry counts whose conditions all hold (see judgement.holds), each
// with what may satisfy it. Behind => stands what follows (see judgement.does), with & between; where there is no =>,
// nothing does. A class has a reason behind it; without one, it is the reason of the row before. A line with two
// tabs before it goes on.
const rules = `
@package -C --prefix --cwd --dir -w --workspace -r --requirement -c -i --index-url --registry --manifest-path
@cloud -n --namespace --context --kubeconfig --profile --region --project -R --repo --cluster -f --filename -o
		--output
@store --context -n --namespace -o --profile --region
@git -m --message -b -B -c -C --source -s -x --exec -e --exclude
@gitnet -b --branch -o --origin --depth -u -c --config -j --jobs --filter --reference -m --message
@run --package -p --with --python --group --project --directory
@id --reuid --regid --groups --inh-caps --ambient-caps --bounding-set --userspec
@pipe -p -s -w -q -i -I -O -P -X -x -T
@ask -p -P -i -o -l -F -L -R -D -J -b -c -W -w -n -t
@curl -o --output -d --data --data-raw --data-binary --data-urlencode --json -F --form -T --upload-file -X --request
		-H --header -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -m --max-time --connect-timeout
		--retry -w --write-out --url -K --config -x --proxy --cacert --cert --key -E --resolve -r --range -C
		--retry-delay --output-dir
@get -O --output-document -o -P --post-data --post-file -U --header --user --password --method --body-data --body-file
		-t -T -d --dir
@to -t --target-directory -S --suffix -m --mode -o --owner -g --group -e --rsh --exclude --include --filter
		--exclude-from --include-from
@framework --env -e --environment --config
sh bash dash zsh ksh mksh ash fish rbash | ^ -o -O --rcfile --init-file +o +O	=> shell
eval	=> eval
source .	=> source
trap | ^
	!-l -p; 2: * => word 0
	=> stop
alias	=> alias
cd pushd | ^	=> cd
popd	=> popd
env | ^ -u --unset -C --chdir -S --split-string -P	=> env
xargs parallel | ^ -I -n -P -L -d -s -a -E -j -S --max-args --max-procs --replace --delimiter --arg-file --max-lines
		--max-chars --jobs --colsep	=> xargs
flock | ^ -w --timeout -E --conflict-exit-code
	2: -c --command => word 2
	=> run 1
dotenv dotenvx | ^ -f -e
	1: run => past 1
	=> run
direnv | ^	1: exec => run 2
command | ^
	-v -V => stop
	=> run
nohup setsid builtin unbuffer busybox toybox catchsegv rlwrap torsocks torify proxychains proxychains4 fakeroot
		cross-env doppler setarch linux64 linux32 | ^	=> run
nice | ^ -n --adjustment	=> run
ionice | ^ -c -n -p --class --classdata	=> run
timeout gtimeout | ^ -k -s --kill-after --signal	=> run 1
stdbuf | ^ -i -o -e --input --output --error	=> run
time | ^ -f -o --format --output	=> run
exec | ^ -a	=> run
chrt | ^ -T -P -D	=> run 1
taskset | ^	=> run 1
strace ltrace | ^ -o -e -p -s -u -P -a -E -I -O -S -X	=> run
xvfb-run | ^ -s -n -e -f -p -w	=> run
caffeinate | ^ -t -w	=> run
systemd-inhibit | ^ --what --who --why --mode	=> run
watch hyperfine | ^ -n --interval -w --warmup -r --runs	=> text
script | -c --command -I -O -B -T -m -E -o	=> option -c --command
nix-shell | --run --command -p -I	=> option --run --command
poetry uv pipenv pdm rye hatch | ^ @run	0: run => past 1
bundle pnpm bun mise asdf direnv | ^ @run	0: exec => past 1
sudo | ^ -u -g -h -p -C -T -U -r -t -D -R --user --group --host --prompt --chdir --chroot
	!rest; -l --list -k -K -V --version --help => stop
	=> root! runs with the rights of another & run
doas pkexec setpriv | ^ -u -C --user @id	=> root! & run
run0 systemd-run | ^ -u --user -p --property --unit --uid --gid -E --setenv	=> root! & run
gosu su-exec chroot | ^ @id	=> root! & run 1
nsenter | ^ -t --target -S -G --setuid --setgid	=> root! & run
unshare | ^	=> root+ makes namespaces in which it is root & run
su runuser | -c --command -s --shell -g -G -u
	-c --command => root! runs with the rights of another & option -c --command
su runuser | ^ -c --command -s --shell -g -G -u
	-u => root! runs with the rights of another & run
	=> root! & stop
git-rebase git-bisect | @git	-x --exec => option -x --exec
git-bisect | @git	1: run => run 1
git-submodule | @git	1: foreach => text 1
zpool zfs diskutil btrfs | | $@	1: *destroy* *erase* *artition* *labelclear* => fs! destroys a file system
mkfs mkfs.* mke2fs mkswap wipefs blkdiscard fdisk sfdisk gdisk sgdisk cfdisk parted badblocks lvremove vgremove
		pvremove mdadm | -t -L | $@
	-l --list -n --no-act
	!rest
	image
	=> fs! writes to a disk past its files
cryptsetup | -t -L | $@
	-l --list -n --no-act
	!rest
	=> fs!
docker podman nerdctl | --context -H --host -f --file -p | $1 $2
	2: prune => fs+ deletes images, containers or volumes
	1: volume; 2: rm remove => fs+
	1: rmi => fs+
	1: compose rm; -v --volumes => fs+
crontab | -u
	-r => fs! deletes all your scheduled jobs
	-l
	=> root+ makes code run later, unattended
git-clean | @git | $0
	-n --dry-run
	-f --force => fs+ deletes files that are not under version control
git-reset | @git | $0	--hard --merge => fs+ throws away changes that are not committed
git-checkout git-restore | @git | $0
	-f --force => fs+
	any: . :/ \* => fs+
git-stash | @git | $0	1: drop clear => fs+ throws away what was put aside
git-branch git-tag | @git | $0	-D => fs- deletes a branch that may not be merged
git-filter-branch git-filter-repo | @git | $0	=> fs+ rewrites the history
git-reflog | @git | $0	1: expire delete => fs+ throws away what could be got back
git-gc | @git | $0	--prune=now --prune=all => fs+
git-update-ref | @git | $0	-d => fs+ deletes a reference
git-config | @git | $0
	--global --system; 2: * => fs+ changes the settings of every project
	--global --system; --unset => fs+
vigr vipw | | $@
	-V --version
	=> root! changes who may act with the rights of root
chmod | | $@
	1: *+*s* [2-7][0-7][0-7][0-7] => root! lets everybody run it with the rights of its owner
	!-R --recursive; 1: [0-7][0-7][2367] 0[0-7][0-7][2367] *o+*w* *a+*w* +*w* => fs+ lets everybody change it
setcap capsh insmod modprobe rmmod kexec mount umount swapoff swapon losetup pivot_root | | $@
	args => root! changes the rights or the state of the system
useradd userdel usermod adduser deluser addgroup groupadd groupdel groupmod gpasswd passwd chpasswd chsh dseditgroup
		sysadminctl | | $@	=> root! changes who may log in, or how
iptables ip6tables nft ufw firewall-cmd pfctl setenforce aa-disable aa-complain auditctl csrutil spctl | | $@
	-L --list -S --list-all --state
	1: list status
	args => root! changes what protects this machine
sysctl | | $@
	-w --write -p --system => root! changes the kernel
	text: *=* => root!
systemctl service rc-service launchctl initctl | | $@
	!any: start stop restart reload enable disable mask unmask kill edit isolate reboot poweroff halt daemon-reload
		load unload bootstrap bootout
	--user => root+ changes which services run
	=> root!
reboot shutdown halt poweroff telinit | | $@	=> root! stops this machine
init | | $@	1: 0 1 6 => root!
at batch | | $@
	-l
	=> root+ makes code run later, unattended
kill | | $@	then: -1 => root! ends all your programs
docker podman nerdctl | -v --volume --pid --userns --ipc --cap-add --security-opt | $-
	--privileged --pid=host --userns=host --ipc=host --security-opt=*unconfined* => root! opens the container to the
		machine it runs on
	--cap-add=ALL --cap-add=SYS_ADMIN --cap-add=SYS_PTRACE --cap-add=SYS_MODULE => root!
	-v=/:* -v=*docker.sock* -v=/etc:* -v=/root:* => root!
	--volume=/:* --volume=*docker.sock* --volume=/etc:* --volume=/root:* => root!
npm yarn pnpm bun | @package | $0 $*
	1: publish unpublish login adduser deprecate owner access token dist-tag => net! publishes, or changes who may
	1: install i ci add update up upgrade audit exec dlx x create init outdated view info install-test import search
		=> net+ fetches code and may run it at once
yarn | @package | $0 $*
	!rest => net+
	1: set => net+
npx bunx uvx pipx | @package | $0 $*	rest => net+
pip pip2 pip3 uv poetry pdm conda mamba micromamba pipenv | @package | $0 $*
	1: publish upload => net! publishes, or changes who may
	--no-index --offline
	1: install download add sync lock update upgrade create wheel search => net+ fetches code and may run it at once
	1: pip; 2: install download add sync lock update upgrade create wheel search => net+
gem bundle composer | @package | $0 $*
	1: push yank => net! publishes, or changes who may
	1: install update require add outdated fetch => net+ fetches code and may run it at once
cargo | @package | $0 $*
	1: publish login yank owner => net! publishes, or changes who may
	--offline
	1: install fetch add update search binstall audit => net+ fetches code and may run it at once
go | @package | $0 $*
	1: get => net+
	1: install run; then: *@* => net+
	1: mod; 2: download tidy vendor => net+
apt apt-get aptitude dnf yum apk brew pacman zypper snap flatpak port nix nix-env emerge rustup nvm pyenv sdk |
		@package | $0 $*
	1: remove purge autoremove uninstall erase del rm => fs+ removes programs from this machine
	1: install update upgrade dist-upgrade full-upgrade add reinstall tap shell run build toolchain refresh => net+
		installs programs on this machine
pacman | | $0 $*
	-R => fs+ removes programs from this machine
	-S -U => net+ installs programs on this machine
nix-env | | $0 $*	-i => net+
mvn gradle gradlew mvnw sbt | @package | $0 $*
	any: deploy publish release:perform uploadArchives => net! publishes, or changes who may
	any: dependency:resolve dependency:go-offline => net+ fetches code and may run it at once
dotnet nuget | @package | $0 $*
	any: push => net! publishes, or changes who may
	1: restore install add => net+ fetches code and may run it at once
twine | @package | $0 $*	1: upload => net! publishes, or changes who may
kubectl oc k9s helm helmfile | @cloud | $0 $*
	!rest
	1: completion template lint version explain
	1: config; !--raw
	1: get describe logs top status list ls history search repo pull diff api-resources cluster-info show auth => net+
		asks a cluster
	=> net! changes a cluster
terraform tofu pulumi terragrunt cdk serverless sls sam | @cloud | $0 $*
	1: apply destroy import taint untaint up deploy remove run-all => net! changes machines and services elsewhere
	1: state; 2: rm mv push => net!
	1: plan init refresh preview diff get state output show => net+ asks machines and services elsewhere
docker podman nerdctl docker-compose buildah skopeo | @cloud | $0 $*
	1: push login => net! publishes images
	1: compose buildx image container; 2: push login => net!
	1: pull run build up create copy search bake => net+ may fetch images and runs what is in them
	1: compose buildx image container; 2: pull run build up create copy search bake => net+
aws gcloud az doctl heroku fly flyctl vercel netlify wrangler firebase supabase gh glab gsutil bq eksctl railway
		linode-cli hcloud ibmcloud oci mc | @cloud | $0 $*
	!rest
	1: help completion alias
	1: auth; 2: token
	looks; !-X --method => net+ asks a service elsewhere
	=> net! changes something at a service elsewhere
ngrok cloudflared localtunnel lt bore tailscale | | $@	=> net! opens this machine to others
mail mailx sendmail mutt msmtp swaks | | $@	=> net! sends mail
ansible ansible-playbook fab salt pdsh pssh | | $@	=> net! changes other machines
ssh mosh ssh-copy-id sshpass autossh sshfs | -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w | $1
	!rest
	near
	=> net! works on another machine
git-push git-send-email git-svn | @gitnet | $0 $*
	1: .* /* file://* ~*
	-f --force --force-with-lease --mirror --delete -d => net! overwrites or deletes what is published
	any: +* :* => net!
	=> net! publishes commits
git-clone git-fetch git-pull git-ls-remote | @gitnet | $1
	1: .* /* file://* ~*
	=> net+ fetches from another machine
git-remote | @gitnet | $2	1: update show prune => net+
git-submodule git-lfs | @gitnet
	1: update add pull fetch sync => net+
	1: push => net! publishes files
rails rake hanami | @framework | $0 $@
	!any: db:*
	prod => db! works on a production database, by its name
	any: db:*drop* db:*reset* db:*purge* db:*schema:load* db:*rollback* db:*truncate* => db+ changes or deletes data
		of the database that the project is set up for
	=> db- changes the database that the project is set up for
prisma | @framework | $0 $@
	!1: migrate db
	prod => db! works on a production database, by its name
	any: reset => db+ changes or deletes data of the database that the project is set up for
	--force-reset --accept-data-loss => db+
	=> db- changes the database that the project is set up for
artisan manage manage.py mix python python3 php npx node | @framework | $0 $@
	!base: migrate* flush dbshell loaddata sqlflush ecto.* db:*
	!text: artisan* manage* mix* *artisan* *manage.py* *prisma* *knex* *sequelize* *typeorm*
	prod => db! works on a production database, by its name
	base: *fresh* *reset* *wipe* *flush* *rollback* *drop* *refresh* => db+ changes or deletes data of the database
		that the project is set up for
	=> db- changes the database that the project is set up for
alembic flyway liquibase knex sequelize typeorm goose migrate dbmate sqlx diesel atlas sequelize-cli | @framework | $0
		$@
	!rest
	text: *history* *status* *current* *generate* *validate* *info*
	then: new* create*
	1: new* create*
	prod => db! works on a production database, by its name
	text: *down* *drop* *clean* *rollback* *reset* *undo* *revert* *force* => db+ changes or deletes data of the
		database that the project is set up for
	=> db- changes the database that the project is set up for
heroku | | $0 $@	1: pg:* => db! works on a production database, by its name
aws gcloud az | | $0 $@	any: rds dynamodb sql cosmosdb redshift docdb spanner bigtable db d1; text: *delete* *update*
		*modify* *put-* *reset* *restore* *execute* *push* *remove* *patch* => db!
supabase wrangler | | $0 $@	--linked --remote --db-url; any: rds dynamodb sql cosmosdb redshift docdb spanner bigtable
		db d1; text: *delete* *update* *modify* *put-* *reset* *restore* *execute* *push* *remove* *patch* => db!
git-credential | | git credential	1: fill => secret! prints a password
gh glab | @store | $0 $*
	1: auth; 2: token => secret! asks a store of secrets for one
	1: auth; --show-token => secret!
aws | @store | $0 $*
	1: configure; 2: get export-credentials => secret!
	2: get-secret-value get-session-token assume-role get-login-password create-access-key => secret!
	--with-decryption => secret!
gcloud | @store | $0 $*
	any: *print-access-token* *print-identity-token* => secret!
	any: secrets; any: versions; any: access => secret!
az | @store | $0 $*
	any: *get-access-token* => secret!
	any: keyvault; any: secret; any: show => secret!
vault bao | @store | $0 $*
	2: list
	1: read kv token login => secret!
kubectl oc | @store | $0 $*
	1: get describe; 2: *secret* => secret!
	1: config; --raw => secret!
op bw lpass keyring chamber doppler infisical secret-tool | @store | $0 $*
	1: read get item show lookup run export secrets exec search => secret!
pass gopass | @store | $0 $*
	!rest
	!1: ls init git insert => secret!
security | @store | $0 $*	1: find-* dump-keychain => secret!
gpg gpg2 | @store | $0 $*	--export-secret-keys --export-secret-subkeys => secret!
heroku | @store | $0 $*	1: config* => secret!
set	!args => secret+ prints every variable, passwords and tokens among them
chmod chown chgrp | --reference --from
	--reference => modes
	=> modes 1
find gfind	=> find
fd fdfind	=> each
sed gsed perl | -e -f -E --expression --file
	-i --in-place; -e -f --expression => write 0 changes
	-i --in-place => write 1 changes
unzip cpio | -C --directory -d -f --file	=> unpack
tar bsdtar | -C --directory -d -f --file
	-x --extract --get => unpack
	0: [^\-]*x* x* => unpack
tar bsdtar unzip cpio	args: *checkpoint-action=exec* *--to-command* *--use-compress-program* *--rmt-command* =>
		unknown an option of it starts a program
dd	=> dd
rm srm grm
	-r -R --recursive -d --dir => remove all
	=> remove
unlink shred rmdir truncate | -n -s --size --iterations -r --reference --random-source	=> remove
mv gmv | -t --target-directory -S --suffix	=> move
cp gcp install ln ditto rsync | @to	=> copy
tee touch mkdir mkfifo mknod | -m --mode -d -r -t --date --reference	=> words & write 0 writes
ls stat file du find tree exa eza fd locate	=> name
grep egrep fgrep rg ag ack sed awk gawk jq yq | -e -f -A -B -C -m --include --exclude --regexp --file -g --glob -t
		--type
	-e -f --regexp --file => read
	=> read 1
scp | -i -F -o -p -P -l	=> read
git-add git-stage	=> read
echo printf test [ chmod chown chgrp which type man kill ssh-keygen true false export basename dirname realpath
		readlink ssh-add git-* dd # : ssh sftp	=> words
curl | @curl	-K --config => unknown a file decides what it fetches
curl | @curl
	-d --data --data-raw --data-binary --data-urlencode --json -F --form -T --upload-file -X=[^gho]* --request=[^gho]*
		=> save -o --output & send
	=> save -o --output & fetch
wget wget2 aria2c axel yt-dlp | @get
	--post-data --post-file --body-data --body-file => save -O --output-document & send
	=> save -O --output-document & fetch
http https xh httpie	=> http
nc ncat netcat telnet | @pipe | $@
	-e -c --exec --sh-exec => net! gives a shell to another machine
	-l => net+ waits for connections from others
nc ncat netcat telnet | @pipe | $1
	-e -c --exec --sh-exec -l
	!rest
	near
	-z => net+ asks another machine
	=> net! opens a connection to another machine
socat | @pipe	=> socat
scp sftp rsync rclone ftp lftp tftp s3cmd croc wormhole | -P -i -o -F -c -l -e --rsh --exclude --include --port
		--filter --exclude-from --include-from --bwlimit	=> carry
ping ping6 dig nslookup host traceroute tracepath mtr whois nmap masscan drill | @ask | $-
	far => net+ asks other machines
openssl | -connect -host -port -servername | $-
	1: s_client; away: -connect -host => net! opens a connection to another machine
xdg-open open sensible-browser lynx w3m links elinks | @ask	=> open
/ [^/]*	=> urls
psql pg_dump pg_dumpall pg_restore dropdb createdb dropuser createuser pgcli pg_basebackup | -h -p -U -d -c -f --host
		--port --username --dbname --command --file -n -t -v -o -F -j	=> client -h --host / -c --command / -d --dbname
mysql mariadb mysqldump mysqladmin mysqlimport mycli | -h -P -u -D -e --host --port --user --database --execute
	=> client -h --host / -e --execute / -D --database
mongo mongosh mongodump mongorestore mongoexport mongoimport | --host --port -u -p --eval --db -d --uri --username
		--password -c --collection	=> client --host --uri / --eval / --db -d
redis-cli valkey-cli keydb-cli | -h -p -a -n -u --user --pass -i -r	=> client -h -u / / -n
clickhouse-client cqlsh influx sqlcmd bcp osql isql sqlplus tsql | --host --port -u --user -q --query -S -Q -d -U -P
		-e -k	=> client --host -S / -q --query -Q -e / -d -k
sqlite3 duckdb | -cmd -init -separator | $1	rest => embedded
printenv
	!args => secret+ prints every variable, passwords and tokens among them
	=> printenv
/ [^/]*	=> mentions
awk gawk mawk nawk	args: *system(* *|?"sh* *|"sh* *|?getline* *|getline* => code
python pypy | ^ -c -m -W -X
	-m=pip -m=pipx -m=twine -m=uv -m=poetry => module
	-m
	-c => code -c
node deno bun ruby | ^ -e -r -p --eval	-e --eval => code -e --eval
perl lua osascript | ^ -e -E	-e -E => code -e -E
php | ^ -r -d -c	-r => code -r
python pypy node deno bun ruby perl lua osascript php
	!options; !rest => piped
	!options; 1: - => piped
/code	text: *rmtree* *os.remove* *os.unlink* *os.rmdir* *fs.rm* *.rmsync* *rmdirsync* *unlinksync* *rm_rf* *rm_r(*
		*unlink* *removesync* *deletefile* *file.delete* *remove_tree* *rmdir(* => fs+ code that deletes files &
		quoted remove
/code	text: *writefile* *write_text* *write_bytes* *.write(* *file_put_contents* *truncate* *copyfile* *shutil.*
		*os.rename* *file.rename* *symlink* *'w'* *"w"* *'a'* *"a"* *'>* *">* => quoted write
/code	text: *urllib* *requests.* *http://* *https://* *socket.* *fetch(* *net.connect* *urlopen* *io::socket*
		*net::http* *fsockopen* => net+ code that speaks to other machines
/code	text: *.ssh/* *.aws/* *id_rsa* */etc/shadow* *os.environ)* *process.env)* */.env* *'.env'* *".env"* *%env* =>
		secret+ code that reads secrets
/code	text: *system(* *popen* *subprocess* *child_process* *exec(* *execsync* *spawn* *do?shell?script* *|?"sh* *|"sh*
		*getline* => unknown it is code that starts programs
`
