#!/bin/sh
# Installs governd, upgrades it in place, and makes it a service. Needs nothing but a POSIX shell and the
# usual tools, and no network unless it is told to download.
#
#   sh install.sh --help
set -eu

# Filled in by the release script; empty in a checkout.
RELEASE_URL=""
RELEASE_PUBLIC_KEY=""

SERVICE_USER=governd
CONFIG_DIR=/etc/governd
DATA_DIR=/var/lib/governd
UNIT=/etc/systemd/system/governd.service
# Seconds in which a started service must respond.
READY_WITHIN=20
# An Ed25519 public key in DER (RFC 8410) is 44 bytes; the first twelve are constant.
KEY_START=MCowBQYDK2VwAyEA

usage() {
  cat <<'END'
Usage: sh install.sh [options]

What is installed, the first that applies:
  --binary FILE       this file
  --download          from --url, checked by SHA-256 and signature
  a governd (or governd-PLATFORM) that lies beside install.sh
  in a checkout of the source: what it builds

Where and how:
  --user              for this user alone, under ~/.local (default: for all, under /usr/local)
  --prefix DIR        under DIR in place of those
  --service           as a systemd service too: its user, its directories, its unit
  --no-start          neither start nor restart the service

Checking what is installed:
  --url URL           where a release lies: the address that SHA256SUMS is at, without that name
  --public-key KEY    the key that releases are signed with: a PEM file, or its base64 in one line
  --sha256 HEX        the digest that the binary must have, known from elsewhere

Instead of installing:
  --rollback          put back the binary that was there before the last upgrade
  --uninstall         remove the program and the service; data and settings stay
  --print unit        print the unit of the service, for the program under --prefix
  --print settings    print the settings that a new service starts with
  --help              print this
END
}

main() {
  umask 022
  read_options "$@"
  choose_places
  case $action in
    install) install_all ;;
    rollback) roll_back ;;
    print) print_file ;;
    uninstall) uninstall ;;
  esac
}

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
misused() {
  printf 'install.sh: %s\nRun it with --help for how to use it.\n' "$*" >&2
  exit 2
}
has() { command -v "$1" >/dev/null 2>&1; }

read_options() {
  action=install binary="" download="" user="" prefix="" service="" start=1
  url=$RELEASE_URL public_key=$RELEASE_PUBLIC_KEY sha256=""
  while [ $# -gt 0 ]; do
    option=$1
    case $option in
      --*=*)
        value=${option#*=} option=${option%%=*}
        shift
        set -- "$option" "$value" "$@"
        case $option in
          --binary | --prefix | --url | --public-key | --sha256 | --print) ;;
          *) misused "$option takes no value, or is not an option" ;;
        esac
        ;;
    esac
    case $option in
      --binary | --prefix | --url | --public-key | --sha256 | --print)
        if [ $# -lt 2 ] || [ -z "$2" ]; then misused "$option needs a value"; fi
        ;;
    esac
    case $option in
      --binary) binary=$2 && shift ;;
      --prefix) prefix=$2 && shift ;;
      --url) url=${2%/} && shift ;;
      --public-key) public_key=$2 && shift ;;
      --sha256) sha256=$2 && shift ;;
      --download) download=1 ;;
      --user) user=1 ;;
      --service) service=1 ;;
      --no-start) start="" ;;
      --rollback) action=rollback ;;
      --print) action=print what=$2 && shift ;;
      --uninstall) action=uninstall ;;
      --help | -h)
        usage
        exit 0
        ;;
      *) misused "there is no option $option" ;;
    esac
    shift
  done
  [ -z "$binary" ] || [ -z "$download" ] || misused "give either --binary or --download, not both"
  [ -z "$user" ] || [ -z "$service" ] || misused "a service is for the whole system: leave out --user"
  case $prefix in "" | /*) ;; *) misused "--prefix must be an absolute path" ;; esac
  case $prefix in *[[:space:]\"%\$]*) misused "--prefix must be a path without spaces, quotes, % and \$" ;; esac
}

choose_places() {
  if [ -n "$user" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set, so it is not known where --user is"
    : "${prefix:=$HOME/.local}"
  fi
  : "${prefix:=/usr/local}"
  program=$prefix/bin/governd
  manual=$prefix/share/man/man1/governd.1
  for_bash=$prefix/share/bash-completion/completions/governd
  for_zsh=$prefix/share/zsh/site-functions/_governd
  for_fish=$prefix/share/fish/vendor_completions.d/governd.fish
  if [ -n "$service" ]; then
    [ "$(uname -s)" = Linux ] || fail "--service is for Linux with systemd"
    [ "$(id -u)" -eq 0 ] || fail "--service needs root: run it with sudo"
  fi
  # The directory of this script; unknown when it is read from a pipe.
  here=""
  case $0 in
    */install.sh) here=$(cd "${0%/*}" && pwd) ;;
    install.sh) here=$(pwd) ;;
  esac
}

install_all() {
  make_directory "$prefix/bin"
  work=$(mktemp -d)
  fresh=$prefix/bin/.governd.$$
  trap 'rm -rf "$work" "$fresh"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  find_binary
  chmod 755 "$fresh"
  version=$("$fresh" version) || fail "this governd does not run on this machine; nothing was changed"
  put_in_place
  write_papers
  if [ -n "$service" ]; then
    make_service
  elif [ "$changed" = yes ]; then
    restart_service
  fi
  case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) say "$prefix/bin is not in PATH: add it, or run $program" ;;
  esac
}

make_directory() {
  mkdir -p "$1" 2>/dev/null && [ -w "$1" ] && return
  hint="run it with sudo, or with --user for yourself alone"
  [ "$(id -u)" -eq 0 ] && hint="is the file system read-only?"
  fail "cannot write to $1: $hint"
}

# --- Where the binary comes from; each of these makes the file $fresh ------------------------------------

find_binary() {
  platform=$(platform_of_this_machine)
  if [ -n "$binary" ]; then
    [ -f "$binary" ] || fail "there is no file $binary"
    take_file "$binary"
  elif [ -n "$download" ]; then
    download_binary
  elif [ -n "$here" ] && [ -f "$here/governd-$platform" ]; then
    take_file "$here/governd-$platform"
  elif [ -n "$here" ] && [ -f "$here/governd" ]; then
    take_file "$here/governd"
  elif [ -n "$here" ] && [ -f "$here/scripts/with-bun.mjs" ]; then
    build_binary
  elif [ -n "$url" ]; then
    download_binary
  else
    fail "there is no governd beside install.sh; name one with --binary FILE, or a release with --download --url URL"
  fi
  [ -z "$sha256" ] || [ "$(digest_of "$fresh")" = "$sha256" ] ||
    fail "the binary does not have the SHA-256 that --sha256 says; nothing was changed"
}

# The names that releases use: linux-x64, linux-arm64-musl, darwin-arm64, …
platform_of_this_machine() {
  case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "there is no governd for this processor ($(uname -m))" ;;
  esac
  case $(uname -s) in
    Linux)
      libc=""
      for loader in /lib/ld-musl-*; do
        [ -e "$loader" ] && ! [ -e /lib/libc.so.6 ] && libc=-musl
      done
      say "linux-$cpu$libc"
      ;;
    Darwin) say "darwin-$cpu" ;;
    *) fail "there is no governd for this system ($(uname -s))" ;;
  esac
}

# A local file. In the directory of a release it must match the release's checksums.
take_file() {
  cp "$1" "$fresh"
  beside=$(dirname "$1")
  [ -f "$beside/SHA256SUMS" ] || return 0
  grep -q "^[0-9a-f]*  $(basename "$1")\$" "$beside/SHA256SUMS" || return 0
  cp "$beside/SHA256SUMS" "$work/SHA256SUMS"
  if [ -n "$public_key" ] && [ -f "$beside/SHA256SUMS.sig" ]; then
    cp "$beside/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
    check_signature
  fi
  check_digest "$(basename "$1")"
}

download_binary() {
  [ -n "$url" ] || fail "it is not known where to download from: give --url, the address of a release"
  case $url in https://* | http://*) ;; *) fail "--url must begin with https:// or http://" ;; esac
  # Checked before 150 MB are downloaded.
  if [ -n "$sha256" ] && [ -z "$public_key" ]; then
    fetch "governd-$platform" "$fresh"
    return
  fi
  [ -n "$public_key" ] ||
    fail "a download is checked against the key that releases are signed with: give --public-key (or --sha256, from a source that you trust)"
  fetch SHA256SUMS "$work/SHA256SUMS"
  fetch SHA256SUMS.sig "$work/SHA256SUMS.sig"
  check_signature
  fetch "governd-$platform" "$fresh"
  check_digest "governd-$platform"
}

fetch() {
  if has curl; then
    curl -fsSL -o "$2" "$url/$1" || fail "cannot download $url/$1; nothing was changed"
  elif has wget; then
    wget -q -O "$2" "$url/$1" || fail "cannot download $url/$1; nothing was changed"
  else
    fail "downloading needs curl or wget: install one, or bring the file and give --binary"
  fi
}

build_binary() {
  say "Building from the source in $here"
  if has node; then
    (cd "$here" && node scripts/with-bun.mjs scripts/build.ts --outfile "$work/governd") >&2 || fail "the build failed"
  elif has bun; then
    (cd "$here" && bun install --frozen-lockfile && bun scripts/build.ts --outfile "$work/governd") >&2 ||
      fail "the build failed"
  else
    fail "building needs Node 20 or newer, or Bun: install one, or bring a binary and give --binary"
  fi
  cp "$work/governd" "$fresh"
}

# --- Checks ----------------------------------------------------------------------------------------------

digest_of() {
  if has sha256sum; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  elif has openssl; then
    openssl dgst -sha256 -r <"$1" | cut -d ' ' -f 1
  else
    fail "checking needs sha256sum, shasum or openssl: install one of them"
  fi
}

# $fresh must have the checksum of its name in $work/SHA256SUMS.
check_digest() {
  wanted=$(sed -n "s/^\\([0-9a-f]\\{64\\}\\)  $1\$/\\1/p" "$work/SHA256SUMS")
  [ -n "$wanted" ] || fail "the release has no $1; nothing was changed"
  [ "$(digest_of "$fresh")" = "$wanted" ] ||
    fail "$1 is not the file that was released (its SHA-256 differs); nothing was changed"
}

# Ed25519 over the bytes of SHA256SUMS (RFC 8032), by OpenSSL 3 or newer.
check_signature() {
  has openssl || fail "checking the signature needs openssl: install it, or give --binary and --sha256"
  if [ -f "$public_key" ]; then
    cp "$public_key" "$work/release.pub"
  else
    case $public_key in
      "$KEY_START"*) ;;
      *) fail "--public-key is neither a file nor an Ed25519 key in base64 (it begins with $KEY_START)" ;;
    esac
    printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$public_key" >"$work/release.pub"
  fi
  openssl pkeyutl -help 2>&1 | grep -q -- -rawin ||
    fail "checking the signature needs OpenSSL 3 or newer, and this is $(openssl version)"
  openssl pkeyutl -verify -pubin -inkey "$work/release.pub" -rawin -in "$work/SHA256SUMS" \
    -sigfile "$work/SHA256SUMS.sig" >/dev/null 2>&1 ||
    fail "the signature of the release's SHA256SUMS is not by the key that was given; nothing was changed"
}

# --- The program -----------------------------------------------------------------------------------------

# Replaces the binary atomically and keeps the old one.
put_in_place() {
  changed=yes
  if [ -f "$program" ] && cmp -s "$program" "$fresh"; then
    changed=no
    rm -f "$fresh"
    say "$version is installed already: $program"
    return
  fi
  if [ -f "$program" ]; then
    # The old one may be running, so it is renamed and not overwritten.
    rm -f "$program.old"
    ln "$program" "$program.old" 2>/dev/null || cp -p "$program" "$program.old"
    mv -f "$fresh" "$program"
    say "$version is installed: $program; the one before it is $program.old (--rollback puts it back)"
  else
    mv -f "$fresh" "$program"
    say "$version is installed: $program"
  fi
}

# The program prints its own manual page and completions, so they match its version.
write_papers() {
  write_paper "$manual" man
  write_paper "$for_bash" completions bash
  write_paper "$for_zsh" completions zsh
  write_paper "$for_fish" completions fish
}

write_paper() {
  paper=$1
  shift
  mkdir -p "$(dirname "$paper")"
  # An older program, after a rollback, may not know these commands.
  if ! "$program" "$@" >"$paper" 2>/dev/null; then rm -f "$paper"; fi
}

roll_back() {
  [ -f "$program.old" ] || fail "there is no $program.old: nothing to roll back to"
  [ -w "$prefix/bin" ] || fail "cannot write to $prefix/bin: run it with sudo"
  version=$("$program.old" version) || fail "$program.old does not run; nothing was changed"
  ln "$program" "$program.$$" 2>/dev/null || cp -p "$program" "$program.$$"
  mv -f "$program.old" "$program"
  mv -f "$program.$$" "$program.old"
  write_papers
  say "$version is back: $program; the one that it replaces is $program.old"
  say "If it finds a database that the newer one has migrated, it says so and changes nothing."
  restart_service
}

uninstall() {
  removed=""
  if [ -f "$UNIT" ] && [ "$(service_program)" = "$program" ]; then
    [ "$(id -u)" -eq 0 ] || fail "the service is for root to remove: run it with sudo"
    if systemd_runs; then
      systemctl disable --quiet --now governd.service
    else
      rm -f /etc/systemd/system/multi-user.target.wants/governd.service
    fi
    rm -f "$UNIT"
    if systemd_runs; then systemctl daemon-reload; fi
    removed="the service and "
  fi
  [ -z "$removed" ] && ! [ -f "$program" ] && fail "there is no $program to remove"
  [ -w "$prefix/bin" ] || fail "cannot write to $prefix/bin: run it with sudo"
  rm -f "$program" "$program.old" "$manual" "$for_bash" "$for_zsh" "$for_fish"
  say "Removed ${removed}$program."
  [ -d "$DATA_DIR" ] && [ -z "$user" ] && say "The data are kept: $DATA_DIR"
  [ -d "$CONFIG_DIR" ] && [ -z "$user" ] && say "The settings are kept: $CONFIG_DIR"
  if [ -z "$user" ] && id "$SERVICE_USER" >/dev/null 2>&1; then
    say "The user $SERVICE_USER is kept: it owns the data."
  fi
}

# --- The service -----------------------------------------------------------------------------------------

systemd_runs() { [ -d /run/systemd/system ] && has systemctl; }

# The program that the installed unit starts.
service_program() { sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$UNIT"; }

make_service() {
  make_user
  install -d -m 700 -o "$SERVICE_USER" -g "$SERVICE_USER" "$DATA_DIR"
  install -d -m 755 "$CONFIG_DIR"
  if ! [ -f "$CONFIG_DIR/governd.toml" ]; then
    write_settings >"$CONFIG_DIR/governd.toml"
    # It may contain the paths of secrets and private addresses.
    chown "root:$SERVICE_USER" "$CONFIG_DIR/governd.toml"
    chmod 640 "$CONFIG_DIR/governd.toml"
  fi
  install -d -m 755 "$(dirname "$UNIT")"
  write_unit >"$UNIT.new"
  if [ -f "$UNIT" ] && cmp -s "$UNIT" "$UNIT.new"; then
    rm -f "$UNIT.new"
  else
    changed=yes
    mv -f "$UNIT.new" "$UNIT"
  fi
  if systemd_runs; then
    systemctl daemon-reload
    systemctl enable --quiet governd.service
    if [ -z "$start" ]; then
      say "The service is installed and not started: systemctl start governd"
      return
    fi
    if [ "$changed" = yes ]; then systemctl restart governd.service; else systemctl start governd.service; fi
    wait_until_ready
    show_link
  else
    # The effect of enabling: the next boot starts it.
    install -d -m 755 /etc/systemd/system/multi-user.target.wants
    ln -sf "$UNIT" /etc/systemd/system/multi-user.target.wants/governd.service
    say "The service is installed and starts with the machine. systemd is not running here, so it was not started."
    say "To run it without systemd: runuser -u $SERVICE_USER -- $program serve --config $CONFIG_DIR/governd.toml"
  fi
}

make_user() {
  id "$SERVICE_USER" >/dev/null 2>&1 && return
  nologin=/usr/sbin/nologin
  [ -x "$nologin" ] || nologin=/sbin/nologin
  [ -x "$nologin" ] || nologin=/bin/false
  if has useradd; then
    useradd --system --user-group --home-dir "$DATA_DIR" --no-create-home --shell "$nologin" "$SERVICE_USER"
  elif has adduser; then
    # BusyBox.
    addgroup -S "$SERVICE_USER"
    adduser -S -D -H -h "$DATA_DIR" -s "$nologin" -G "$SERVICE_USER" "$SERVICE_USER"
  else
    fail "there is neither useradd nor adduser: make the system user $SERVICE_USER, and run this again"
  fi
}

restart_service() {
  [ -f "$UNIT" ] && [ "$(service_program)" = "$program" ] && systemd_runs || return 0
  systemctl is-active --quiet governd.service || return 0
  if [ -z "$start" ]; then
    say "The running service still is the one before: systemctl restart governd"
    return
  fi
  systemctl restart governd.service
  wait_until_ready
  say "The service was restarted."
}

wait_until_ready() {
  waited=0
  until said=$("$program" health --config "$CONFIG_DIR/governd.toml" 2>&1); do
    waited=$((waited + 1))
    if [ "$waited" -gt "$READY_WITHIN" ] || systemctl is-failed --quiet governd.service; then
      printf '%s\n' "$said" "The last lines of its log:" >&2
      journalctl --unit governd.service --no-pager --lines 10 --output cat >&2 || true
      fail "the service is installed, and does not answer: journalctl -u governd"
    fi
    sleep 1
  done
  say "The service runs: systemctl status governd"
}

show_link() {
  say "Settings: $CONFIG_DIR/governd.toml. Data: $DATA_DIR. Log: journalctl -u governd"
  # The daemon prints it at this start, and only while there is no account.
  run=$(systemctl show --property InvocationID --value governd.service)
  link=$(journalctl "_SYSTEMD_INVOCATION_ID=$run" --no-pager --output cat 2>/dev/null |
    sed -n 's/.*\(https:[^" ]*#token=[^" ]*\).*/\1/p' | tail -n 1)
  if [ -n "$link" ]; then
    say "There is no account yet. Create the first one with this link, which works once:"
    say "  $link"
  fi
  say "Another link: runuser -u $SERVICE_USER -- $program account link --config $CONFIG_DIR/governd.toml"
}

print_file() {
  case $what in
    unit) write_unit ;;
    settings) write_settings ;;
    *) misused "--print takes unit or settings" ;;
  esac
}

write_settings() {
  cat <<END
# Settings of the governd service. All of them, with their values and sources:
#   governd serve --print-settings --config $CONFIG_DIR/governd.toml
# The daemon reads them when it starts: systemctl restart governd
data_dir = "$DATA_DIR"
# To be reached from other machines: listen = "0.0.0.0:8443"
listen = "127.0.0.1:8443"
# The names that clients call it by, for its certificate: hostnames = ["governd.example.org"]
END
}

write_unit() {
  cat <<END
# An upgrade overwrites this file: changes belong into governd.service.d/*.conf (systemctl edit governd).
[Unit]
Description=governd, a governance daemon for software agents
Documentation=man:governd(1)
Wants=network-online.target
After=network-online.target
# Retrying for ever does not fix a mistake in the settings, which ends a start at once. A start that waits for a libSQL
# server takes five seconds, so it is retried until the server answers.
StartLimitIntervalSec=20
StartLimitBurst=5

[Service]
Type=exec
User=$SERVICE_USER
Group=$SERVICE_USER
ExecStart=$program serve --config $CONFIG_DIR/governd.toml
# Makes it read its settings and its certificate again.
ExecReload=/bin/sh -c 'kill -HUP "\$MAINPID"'
Restart=on-failure
RestartSec=2
# It stops within ten seconds.
TimeoutStopSec=12
KillMode=mixed
StateDirectory=governd
StateDirectoryMode=0700
UMask=0077
# Every open workspace and every connection is a few files.
LimitNOFILE=524288
# A core dump would hold keys and values.
LimitCORE=0
# Change both with \`systemctl edit governd\`.
MemoryMax=75%
TasksMax=512

NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
PrivateIPC=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
ProcSubset=pid
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
# MemoryDenyWriteExecute is not possible: the runtime compiles code while it runs.

[Install]
WantedBy=multi-user.target
END
}

main "$@"
