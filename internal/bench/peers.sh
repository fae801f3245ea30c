#!/bin/sh
# Puts the peers of the benchmarks into the folder $1/bin, as far as they are not installed: jq 1.7 or later, built from
# Debian's source with the C compiler alone; GNU make and sqlite3, packages of Debian, which are unpacked and not installed.
# What cannot be had is said, here and in the table.
set -u
dir=${1:?usage: peers.sh FOLDER}
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/src" "$dir/bin" "$dir/deb"
dir=$(cd "$dir" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
echo "deb-src [signed-by=$keyring] $mirror trixie main" >"$dir/apt/sources.list"

newer() { "$1" --version 2>/dev/null | grep -Eq '^jq-(1\.([7-9]|[1-9][0-9])|[2-9])'; }

jq_source() {
    command -v apt-get >/dev/null && command -v cc >/dev/null || return 1
    [ -r $keyring ] || return 1
    set -- -q -o Dir::Etc::SourceList="$dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$dir/apt/lists" -o Dir::Cache="$dir/apt"
    apt-get "$@" update && cd "$dir/src" && apt-get "$@" --download-only --tar-only source jq && tar -xzf jq_*.orig.tar.gz
}

# jq's parser and lexer come generated, so that no build tool but the compiler is needed; regular expressions are left out.
jq_build() {
    cd "$dir"/src/jq-jq-* 2>/dev/null || cd "$dir"/src/jq-[0-9]* || return 1
    version=$(basename "$PWD" | sed 's/^jq-jq-/jq-/; s/^jq-//')
    echo "#define JQ_VERSION \"$version\"" >src/version.h
    echo '#define JQ_CONFIG ""' >src/config_opts.inc
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' src/builtin.jq >src/builtin.inc
    have=
    for f in acos acosh asin asinh atan2 atan atanh cbrt ceil copysign cos cosh drem erf erfc exp10 exp2 exp expm1 fabs fdim floor fma fmax fmin fmod frexp \
        gamma hypot j0 j1 jn ldexp lgamma log10 log1p log2 log logb modf lgamma_r nearbyint nextafter nexttoward pow remainder rint round scalb scalbln \
        significand ilogb sin sinh sqrt tan tanh tgamma trunc y0 y1 yn atexit isatty strptime strftime setlocale gettimeofday memmem timegm gmtime_r \
        gmtime localtime_r localtime mktime; do
        have="$have -DHAVE_$(echo $f | tr a-z A-Z)=1"
    done
    sources=$(ls src/*.c | grep -v inject_errors)
    # shellcheck disable=SC2086 # lists of words
    cc -O2 -DNDEBUG -D_GNU_SOURCE $have -DHAVE_PTHREAD=1 -DHAVE_PTHREAD_KEY_CREATE=1 -DHAVE_PTHREAD_ONCE=1 -DHAVE___THREAD=1 -DUSE_DECNUM=1 -DHAVE_TM_TM_GMT_OFF=1 \
        -DIEEE_8087=1 -I. -Isrc $sources src/decNumber/decContext.c src/decNumber/decNumber.c -o "$dir/bin/jq" -lm -lpthread 2>"$dir/jq.log" && newer "$dir/bin/jq"
}

# unpacked PACKAGE PROGRAM takes a program out of a package of Debian.
unpacked() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    cd "$dir/deb" && apt-get -q download "$1" && dpkg-deb -x "$1"_*.deb "$dir/deb/$1" && cp "$dir/deb/$1/usr/bin/$2" "$dir/bin/$2" && "$dir/bin/$2" --version
}

# peer NAME IS-THERE MAKE says how it stands with a peer.
peer() {
    if (eval "$2") >/dev/null 2>&1; then
        echo "peers: $1 is there"
    elif (eval "$3") >"$dir/log.$1" 2>&1; then
        echo "peers: made $1"
    else
        echo "peers: $1 cannot be had here; see $dir/log.$1"
    fi
}

peer jq "newer '$dir/bin/jq' || newer jq" 'jq_source && jq_build'
peer make 'command -v make' 'unpacked make make'
peer sqlite3 "test -x '$dir/bin/sqlite3' || command -v sqlite3" 'unpacked sqlite3 sqlite3'
