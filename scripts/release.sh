#!/bin/sh
# Makes a release in dist/: static binaries, archives with completions and manual pages, an SBOM of each binary, .deb packages, an OCI
# image layout, an npm package, and the checksums of all. The same commit and Go give the same bytes. Needs GNU tar; tools come as Go
# modules at pinned versions. Usage: scripts/release.sh [PART...], for instance scripts/release.sh binaries words archives sums.
set -eu
cd "$(dirname "$0")/.."
home=https://tercet.invalid # where this repository can be seen: the one line to change, packages name it
md2man=github.com/cpuguy83/go-md2man/v2@v2.0.7
cyclonedx=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0

dist=${DIST:-dist}
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
version=$(sed -n 's/^const version = "\(.*\)"/\1/p' cmd/tercet/verb_about.go)
commit=${COMMIT-$(git describe --always --dirty --abbrev=40 --match '' 2>/dev/null || :)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)} # without a commit 1980
certificates=${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
export SOURCE_DATE_EPOCH CGO_ENABLED=0 LC_ALL=C TZ=UTC GOFLAGS=-buildvcs=false

binary() { echo "$dist/bin/tercet_$(echo "$1" | tr / _)"; }
own() { binary "$(go env GOHOSTOS)/$(go env GOHOSTARCH)"; }
sha() { sha256sum "$1" | cut -d ' ' -f 1; }
# pack FOLDER NAMES...: a tar of sorted names without times, owners and what umask left
pack() { in=$1; shift; tar -C "$in" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+w,go=rX,a-s -cf - "$@"; }

binaries() {
	mkdir -p "$dist/bin"
	for target in $targets; do
		GOOS=${target%/*} GOARCH=${target#*/} go build -trimpath -tags=nethttpomithttp2 -ldflags="-s -w -X main.commit=$commit" -o "$(binary "$target")" ./cmd/tercet
	done
}

# words: what an archive holds besides the binary.
words() {
	rm -rf "$dist/words" && mkdir -p "$dist/words/completions" "$dist/words/man"
	for shell in bash zsh fish; do "$(own)" completion $shell >"$dist/words/completions/tercet.$shell"; done
	for page in tercet.1=cli tercet-commands.7=commands tercet-grammar.7=grammar; do
		name=${page%=*} source=docs/reference/${page#*=}.md
		{
			printf '%s %s "" "tercet %s" "tercet manual"\n====\n\n# NAME\n\n%s - %s\n\n' "${name%.*}" "${name##*.}" "$version" "${name%.*}" \
				"$(sed -n 's/^# //p' "$source" | head -n 1)"
			# tables, which a terminal has no room for, become lists
			sed -E '/^<!--/d; /^# /d; s/^## /# /; /^\|---/d; /^\| (flag|key) \|/d
				s/^\| (`[^`]*`) \| (.*) \|$/\1\n:   \2\n/; t row; b; :row; s/([^\\]) \| /\1; /; s/\\\|/|/g' "$source"
		} | go run "$md2man" >"$dist/words/man/$name"
	done
	cp LICENSE README.md CHANGELOG.md "$dist/words/"
	# The licences of what is linked ask to be passed on.
	for target in $targets; do
		GOOS=${target%/*} GOARCH=${target#*/} go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/tercet
	done | sort -u | while read -r module at dir; do
		for file in "$dir"/LICENSE* "$dir"/COPYING* "$dir"/NOTICE*; do
			[ -f "$file" ] && printf '\n== %s %s: %s\n\n' "$module" "$at" "${file##*/}" && cat "$file"
		done || :
	done >"$dist/words/LICENSES-OF-PARTS"
}

archives() {
	for target in $targets; do
		name=tercet_${version}_$(echo "$target" | tr / _)
		rm -rf "$dist/stage" && mkdir -p "$dist/stage/$name"
		cp -R "$dist/words/." "$dist/stage/$name/"
		install -m 755 "$(binary "$target")" "$dist/stage/$name/tercet"
		pack "$dist/stage" "$name" | gzip -9n >"$dist/$name.tar.gz"
	done
}

sbom() {
	for target in $targets; do
		go run "$cyclonedx" bin -json -noserial -notimestamp -std -version "v$version" -output "$dist/tercet_${version}_$(echo "$target" | tr / _).cdx.json" "$(binary "$target")"
	done
}

deb() {
	for target in $targets; do
		case $target in linux/*) ;; *) continue ;; esac
		DIST=$dist VERSION=$version HOMEPAGE=$home ARCH=${target#*/} BINARY=$(binary "$target") \
			go run "$nfpm" package --packager deb --config scripts/release/nfpm.yaml --target "$dist/"
	done
}

# blob TYPE FILE [MORE]: puts a file into the layout and prints its descriptor.
blob() {
	digest=$(sha "$2")
	printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d%s}' "$1" "$digest" "$(wc -c <"$2")" "${3:-}"
	mv "$2" "$layout/blobs/sha256/$digest"
}

image() {
	layout=$dist/tercet_${version}_image list='' tagged=''
	rm -rf "$layout" && mkdir -p "$layout/blobs/sha256"
	printf '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
	date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
	for target in $targets; do
		case $target in linux/*) ;; *) continue ;; esac
		arch=${target#*/} root=$dist/stage
		rm -rf "$root" && mkdir -p "$root/usr/bin" "$root/etc/ssl/certs" "$root/tmp" "$root/work"
		install -m 755 "$(binary "$target")" "$root/usr/bin/tercet"
		install -m 644 "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
		pack "$root" --mode=a+rwX tmp work >"$dist/open.tar"
		pack "$root" etc usr >"$dist/layer.tar"
		tar -A -f "$dist/layer.tar" "$dist/open.tar" && rm "$dist/open.tar"
		diff=$(sha "$dist/layer.tar")
		gzip -9n "$dist/layer.tar"
		layer=$(blob layer.v1.tar+gzip "$dist/layer.tar.gz")
		printf '{"architecture":"%s","os":"linux","created":"%s","config":{"Entrypoint":["/usr/bin/tercet"],"WorkingDir":"/work","Env":["PATH=/usr/bin","HOME=/tmp"],"Labels":{"org.opencontainers.image.version":"%s","org.opencontainers.image.revision":"%s","org.opencontainers.image.source":"%s"}},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"%s"}]}' \
			"$arch" "$date" "$version" "$commit" "$home" "$diff" "$date" >"$dist/config.json"
		config=$(blob config.v1+json "$dist/config.json")
		printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' "$config" "$layer" >"$dist/manifest.json"
		list="$list${list:+,}$(blob manifest.v1+json "$dist/manifest.json" ",\"platform\":{\"architecture\":\"$arch\",\"os\":\"linux\"}")"
	done
	printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$list" >"$dist/index.json"
	tagged=$(blob index.v1+json "$dist/index.json" ",\"annotations\":{\"org.opencontainers.image.ref.name\":\"$version\"}")
	printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$tagged" >"$layout/index.json"
	pack "$layout" . | gzip -9n >"$layout.tar.gz"
}

npm() {
	rm -rf "$dist/stage" && mkdir -p "$dist/stage/package/bin"
	sed "s|@version@|$version|; s|@home@|$home|" scripts/release/npm/package.json >"$dist/stage/package/package.json"
	cp scripts/release/npm/tercet.js LICENSE README.md "$dist/stage/package/"
	for target in $targets; do install -m 755 "$(binary "$target")" "$dist/stage/package/bin/$(echo "$target" | tr / _)"; done
	pack "$dist/stage" package | gzip -9n >"$dist/tercet-$version.tgz"
}

sums() { (cd "$dist" && find . -maxdepth 1 -type f ! -name checksums.txt | sed 's|^\./||' | sort | xargs sha256sum >checksums.txt) && rm -rf "$dist/stage"; }

[ $# -gt 0 ] || set -- binaries words archives sbom deb image npm sums
for part; do
	echo "release: $part" >&2
	$part
done
