#!/bin/sh
# Makes the release twice, the second time in another folder without git and without Go's cache, compares the bytes, and installs, uses
# and removes what came out. Needs dpkg, npm, and root or user namespaces; about ten minutes on two cores.
set -eu
cd "$(dirname "$0")/../.."
crane=github.com/google/go-containerregistry/cmd/crane@v0.22.1
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; chmod -R u+w "$work"; rm -rf "$work"' EXIT
step() { echo "check: $*"; }
fail() { echo "release/check.sh: $*" >&2; exit 1; }
# inside COMMAND...: as root, here or in a user namespace; apart also without a network
inside() { if [ "$(id -u)" = 0 ]; then "$@"; else unshare --map-root-user "$@"; fi; }
apart() { if [ "$(id -u)" = 0 ]; then unshare --net "$@"; else unshare --map-root-user --net "$@"; fi; }
# uses DIR COMMAND...: the command makes a workspace and a task in DIR, as it sees it, and refuses an unknown one with 2
uses() {
	dir=$1
	shift
	HOME=$dir-home "$@" -C "$dir" version | grep -q "^tercet $version ($commit go" || fail "expected tercet $version of $commit from $*"
	HOME=$dir-home "$@" -C "$dir" init >"$work/out" 2>&1 || fail "$(cat "$work/out")"
	HOME=$dir-home "$@" -C "$dir" /task 'Try the package' >"$work/out" 2>&1 || fail "$(cat "$work/out")"
	[ "$(HOME=$dir-home "$@" -C "$dir" query -r '.tasks[0].title')" = 'Try the package' ] || fail "$* keeps no task"
	code=0
	HOME=$dir-home "$@" -C "$dir" /nosuch >"$work/out" 2>&1 || code=$?
	[ "$code" = 2 ] || fail "expected exit code 2 of $* /nosuch, got $code"
}

step make
rm -rf dist
commit=$(git describe --always --dirty --abbrev=40 --match '')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
sh ./scripts/release.sh
dist=$PWD/dist
version=$("$dist/bin/tercet_$(go env GOOS)_$(go env GOARCH)" version --jq .version)

step same bytes elsewhere
mkdir "$work/tree"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$work/tree"
(umask 077 && cd "$work/tree" && GOCACHE=$work/cache COMMIT=$commit sh ./scripts/release.sh)
diff "$dist/checksums.txt" "$work/tree/dist/checksums.txt" || fail "two builds differ"
(cd "$dist" && sha256sum --quiet -c checksums.txt)

step binaries
arch=$(go env GOARCH)
for binary in "$dist"/bin/*; do
	goos=$(basename "$binary" | cut -d _ -f 2)
	case $goos:$(od -An -tx1 -N4 "$binary" | tr -d ' ') in
	linux:7f454c46) ! readelf -lW "$binary" | grep -q INTERP || fail "$binary is not static" ;;
	darwin:cffaedfe) ;;
	*) fail "$binary is no binary for $goos" ;;
	esac
	! grep -aq -e "$PWD" -e "$work" "$binary" || fail "$binary names a folder of this machine"
	name=$(basename "$binary" | sed "s/_/_${version}_/")
	go version -m "$binary" | awk '$1 == "dep" {print $2 "@" $3}' | sort >"$work/linked"
	"$dist/bin/tercet_linux_$arch" query -r '.components[] | select(.name != "std") | "\(.name)@\(.version)"' "$dist/$name.cdx.json" | sort >"$work/listed"
	diff "$work/linked" "$work/listed" || fail "the SBOM of $name is not what is linked"
	tar -xzOf "$dist/$name.tar.gz" "$name/tercet" | cmp - "$binary"
done

step completions and manual pages
bash -n "$dist/words/completions/tercet.bash"
for shell in zsh fish; do ! command -v $shell >/dev/null || $shell -n "$dist/words/completions/tercet.$shell"; done
for page in "$dist"/words/man/*; do
	[ -z "$(man -l --warnings "$page" 2>&1 >/dev/null)" ] || fail "$(man -l --warnings "$page" 2>&1 >/dev/null | head)"
done

step .deb
root=$work/deb
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/tmp"
: >"$root/var/lib/dpkg/status"
inside dpkg --root="$root" --log=/dev/null -i "$dist/tercet_${version}_$arch.deb" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
uses /tmp inside chroot "$root" /usr/bin/tercet
inside dpkg --root="$root" --log=/dev/null -P tercet >"$work/out" 2>&1 || fail "$(cat "$work/out")"
[ ! -e "$root/usr/bin/tercet" ] && [ ! -e "$root/usr/share/doc/tercet" ] || fail "something is left of the package"

step npm
mkdir "$work/npm"
(cd "$work/npm" && apart npm install --offline --ignore-scripts --no-audit --no-fund --cache "$work/npm-cache" "$dist/tercet-$version.tgz") >"$work/out" 2>&1 || fail "$(cat "$work/out")"
mkdir "$work/npm/project"
uses "$work/npm/project" "$work/npm/node_modules/.bin/tercet"

step image
GOBIN=$work go install "$crane"
"$work/crane" registry serve --address 127.0.0.1:0 >"$work/registry" 2>&1 &
server=$!
until port=$(sed -n 's/.*serving on port //p' "$work/registry") && [ -n "$port" ]; do kill -0 "$server" || fail "$(cat "$work/registry")"; done
"$work/crane" push --index "$dist/tercet_${version}_image" "127.0.0.1:$port/tercet:$version" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
"$work/crane" validate --remote "127.0.0.1:$port/tercet:$version"
mkdir "$work/image"
"$work/crane" export --platform "linux/$arch" "127.0.0.1:$port/tercet:$version" - | tar -xf - -C "$work/image"
[ -s "$work/image/etc/ssl/certs/ca-certificates.crt" ] || fail "the image has no certificates"
uses /work inside chroot "$work/image" /usr/bin/tercet

step action
go test ./cmd/tercet -run '^TestAction$' -count 1 -args -install
echo "check: all is well"
