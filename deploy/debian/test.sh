#!/bin/sh
# The package's life in a fresh Debian: `cargo xtask dist --test` runs this as root of a chroot,
# with the package as /old.deb and the same as a newer version as /new.deb.
set -eu

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
check() {
    what=$1
    shift
    "$@" || fail "$what"
    echo "ok: $what"
}

# Starts the service as the unit does, and waits until it is ready.
start() {
    : >/tmp/service.log
    (
        set -a
        . /etc/orbweaver/environment
        ORBWEAVER_CONFIG=/etc/orbweaver/orbweaver.toml
        ORBWEAVER_DATA_DIR=/var/lib/orbweaver
        HOME=/var/lib/orbweaver
        cd /
        exec runuser --user orbweaver --preserve-environment -- /usr/bin/orbweaver serve
    ) >/tmp/service.log 2>&1 &
    service=$!
    tries=0
    until runuser --user orbweaver -- /usr/bin/orbweaver ready >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || {
            cat /tmp/service.log
            fail "the service is not ready within 10 s"
        }
        sleep 0.1
    done
}
stop() {
    kill -TERM "$service"
    check "the service stops in good order" wait "$service"
}
api() {
    path=$1
    shift
    curl --silent --show-error --fail -H "Authorization: Bearer $key" \
        "http://127.0.0.1:8080$path" "$@"
}
mode_is() {
    [ "$(stat -c '%U:%G %a' "$2")" = "$1" ] || {
        stat -c '%n %U:%G %a' "$2"
        return 1
    }
}

export DEBIAN_FRONTEND=noninteractive

dpkg -i /old.deb
check "the user exists and cannot log in" sh -c 'getent passwd orbweaver | grep -q nologin'
check "the data folder is the user's alone" mode_is "orbweaver:orbweaver 700" /var/lib/orbweaver
check "the secrets are readable by root and the service" \
    mode_is "root:orbweaver 640" /etc/orbweaver/environment
check "completions are installed" test -s /usr/share/bash-completion/completions/orbweaver
check "the unit is installed" test -s /lib/systemd/system/orbweaver.service
key=$(sed -n 's/^ORBWEAVER_BOOTSTRAP_KEY=//p' /etc/orbweaver/environment)
[ "${#key}" -eq 36 ] || fail "the first key has ${#key} characters"

mkdir -p /var/lib/orbweaver/plugins
chown orbweaver:orbweaver /var/lib/orbweaver/plugins
began=$(date +%s%N)
start
echo "ok: ready $((($(date +%s%N) - began) / 1000000)) ms after the start"
check "nothing was compiled at the start" \
    sh -c '! ls /var/lib/orbweaver/compiled/*.cwasm 2>/dev/null'
check "the first key works" sh -c "curl -sf -H 'Authorization: Bearer $key' \
    http://127.0.0.1:8080/v1/actors | grep -q audit-onpage"
check "orbweaver-admin works beside the service" \
    sh -c 'orbweaver-admin project create shop --tier pro | grep -q orb_'
check "its files are the service's" sh -c \
    '! find /var/lib/orbweaver ! -user orbweaver | grep -q .'
api /v1/plugins >/tmp/plugins.json
check "the plugins are those inside the program" grep -q '"embedded"' /tmp/plugins.json
stop

echo '# kept by the administrator' >>/etc/orbweaver/orbweaver.toml
dpkg -i --force-confdef --force-confold /new.deb
check "the newer version is installed" sh -c \
    'dpkg-query -W -f "\${Version}" orbweaver | grep -q test1'
check "a changed setting survives" grep -q 'kept by' /etc/orbweaver/orbweaver.toml
[ "$key" = "$(sed -n 's/^ORBWEAVER_BOOTSTRAP_KEY=//p' /etc/orbweaver/environment)" ] ||
    fail "the upgrade changed the secrets"
start
check "the data survives" sh -c 'orbweaver-admin project list | grep -q shop'
api /v1/usage >/dev/null
stop

dpkg -r orbweaver
check "the program is gone" sh -c '! test -e /usr/bin/orbweaver'
check "the data stays" test -s /var/lib/orbweaver/orbweaver.db
dpkg -P orbweaver
check "purging removes the data" sh -c '! test -e /var/lib/orbweaver'
check "purging removes the settings" sh -c '! test -e /etc/orbweaver'
echo "The package was installed, started, upgraded, removed and purged."
