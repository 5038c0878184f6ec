#!/bin/sh
# Installs, uses, upgrades and removes the package on a Debian that runs systemd. `cargo xtask dist
# --test` runs this in machine.sh, with the package as /old.deb and as a newer version as /new.deb.
set -eu

fail() {
    echo "FAILED: $*" >&2
    systemctl status --no-pager --lines=30 orbweaver >&2 || true
    exit 1
}
check() {
    what=$1
    shift
    "$@" || fail "$what"
    echo "ok: $what"
}
milliseconds() {
    echo "$(($(date +%s%N) / 1000000))"
}
# Waits until the service answers, and prints the time since $1.
await_ready() {
    tries=0
    until curl --silent --fail --output /dev/null http://127.0.0.1:8080/v1/ready; do
        tries=$((tries + 1))
        [ "$tries" -lt 1000 ] || fail "the service is not ready within 10 s"
        sleep 0.01
    done
    echo "ok: the service answers $(($(milliseconds) - $1)) ms after its start"
}
main_pid() {
    systemctl show --property MainPID --value orbweaver
}
first_key() {
    sed -n 's/^ORBWEAVER_BOOTSTRAP_KEY=//p' /etc/orbweaver/environment
}
api() {
    path=$1
    shift
    curl --silent --show-error --fail -H "Authorization: Bearer $key" \
        -H 'Content-Type: application/json' "http://127.0.0.1:8080$path" "$@"
}
scan() {
    api /v1/scan --data '{"url": "http://127.0.0.1:8000/"}' | grep -q 'eight legs'
}
mode_is() {
    [ "$(stat -c '%U:%G %a' "$2")" = "$1" ] || {
        stat -c '%n %U:%G %a' "$2" >&2
        return 1
    }
}
# Whether the running service has this line in /proc/PID/FILE.
process_has() {
    grep -Eq "$2" "/proc/$(main_pid)/$1" || {
        cat "/proc/$(main_pid)/$1" >&2
        return 1
    }
}

export DEBIAN_FRONTEND=noninteractive

began=$(milliseconds)
dpkg -i /old.deb
await_ready "$began"
check "the service is started at boot" systemctl --quiet is-enabled orbweaver
check "the user cannot log in" sh -c 'getent passwd orbweaver | grep -q nologin'
check "only the user may read the data" mode_is "orbweaver:orbweaver 700" /var/lib/orbweaver
check "only root may read the secrets" mode_is "root:root 600" /etc/orbweaver/environment
key=$(first_key)
[ "${#key}" -eq 36 ] || fail "the first key has ${#key} characters"
check "completions are installed" test -s /usr/share/bash-completion/completions/orbweaver

check "systemd finds no fault in the unit" systemd-analyze verify --man=no orbweaver.service
systemd-analyze security --no-pager orbweaver >/tmp/security
check "systemd finds it well confined ($(tail -n 1 /tmp/security))" \
    systemd-analyze security --threshold=30 --no-pager --quiet orbweaver

pid=$(main_pid)
uid=$(id -u orbweaver)
check "it runs as its user" process_has status "^Uid:.$uid.$uid.$uid.$uid"
check "it has no capabilities" process_has status '^CapBnd:.0+$'
check "it cannot get new privileges" process_has status '^NoNewPrivs:.1$'
check "its system calls are filtered" process_has status '^Seccomp:.2$'
# Not the process's own limit: where the test runs, root may be unable to raise it.
check "the unit asks for many open files" \
    sh -c '[ "$(systemctl show --property LimitNOFILE --value orbweaver)" = 262144 ]'
check "the system is read-only for it" process_has mountinfo '^[^ ]+ [^ ]+ [^ ]+ [^ ]+ / ro[, ]'
check "its folder is not" process_has mountinfo ' /var/lib/orbweaver rw[, ]'

# A site to scan. The guard refuses this machine's addresses unless it is told otherwise.
perl -MIO::Socket::INET -e '
    my $site = IO::Socket::INET->new(LocalAddr => "127.0.0.1:8000", Listen => 9) or die "listen: $!";
    while (my $client = $site->accept) {
        while (<$client>) { last if /^\r?$/ }
        print $client "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n",
            "<title>Spiders</title><h1>Spiders</h1><p>Spiders have eight legs.";
        close $client;
    }' &
site=$!
trap 'kill $site' EXIT
check "addresses of this machine are refused" sh -c "! curl -sf -H 'Authorization: Bearer $key' \
    -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/scan \
    --data '{\"url\": \"http://127.0.0.1:8000/\"}'"
sed -i '/^plugin_dir/a allow_nets = ["127.0.0.0/8"]' /etc/orbweaver/orbweaver.toml
began=$(milliseconds)
systemctl restart orbweaver
await_ready "$began"
check "a page is scanned" scan
echo "ok: the first scan ends $(($(milliseconds) - began)) ms after the start"
check "nothing was compiled" sh -c '! ls /var/lib/orbweaver/compiled/*.cwasm 2>/dev/null'
api /v1/plugins >/tmp/plugins.json
check "the plugins are those inside the program" grep -q '"embedded"' /tmp/plugins.json

check "orbweaver-admin works beside the service" \
    sh -c 'orbweaver-admin project create shop --tier pro | grep -q orb_'
printf '%s\n' 'ORBWEAVER_PUBLIC_URL="https://crawl.example/"' >>/etc/orbweaver/environment
check "orbweaver-admin reads values in quotes as systemd does" \
    sh -c 'orbweaver-admin config | grep -q "^public_url = \"https://crawl.example/\""'
check "doctor finds no fault" sh -c 'orbweaver-admin doctor | tee /tmp/doctor | grep -q "^ok *database"'
check "all data is the user's" sh -c '! find /var/lib/orbweaver ! -user orbweaver | grep -q .'

kill -KILL "$(main_pid)"
began=$(milliseconds)
while [ "$(main_pid)" = "$pid" ] || [ "$(main_pid)" = 0 ]; do
    [ "$(($(milliseconds) - began))" -lt 10000 ] || fail "it is not started again after a crash"
    sleep 0.1
done
await_ready "$began"

echo '# kept by the administrator' >>/etc/orbweaver/orbweaver.toml
pid=$(main_pid)
dpkg -i --force-confdef --force-confold /new.deb
await_ready "$(milliseconds)"
check "the newer version is installed" sh -c \
    'dpkg-query -W -f "\${Version}" orbweaver | grep -q test1'
[ "$(main_pid)" != "$pid" ] || fail "the upgrade did not restart the service"
check "a changed setting survives" grep -q 'kept by' /etc/orbweaver/orbweaver.toml
[ "$(first_key)" = "$key" ] || fail "the upgrade changed the secrets"
check "projects survive" sh -c 'orbweaver-admin project list | grep -q shop'
check "a page is scanned after the upgrade" scan

began=$(milliseconds)
systemctl stop orbweaver
[ "$(($(milliseconds) - began))" -lt 10000 ] || fail "it took more than 10 s to stop"
[ "$(systemctl show --property Result --value orbweaver)" = success ] || fail "it did not stop in order"
systemctl start orbweaver
await_ready "$(milliseconds)"

dpkg -r orbweaver
check "the service is gone" sh -c '! systemctl --quiet is-active orbweaver'
check "the program is gone" sh -c '! test -e /usr/bin/orbweaver'
check "the data stays" test -s /var/lib/orbweaver/orbweaver.db

began=$(milliseconds)
dpkg -i --force-confdef --force-confold /new.deb
await_ready "$began"
check "the service is started at boot after a new installation" systemctl --quiet is-enabled orbweaver
[ "$(first_key)" = "$key" ] || fail "the new installation changed the secrets"
check "projects survive a new installation" sh -c 'orbweaver-admin project list | grep -q shop'
systemctl disable --now orbweaver
dpkg -r orbweaver
dpkg -i --force-confdef --force-confold /new.deb
check "a disabled service stays disabled" sh -c '! systemctl --quiet is-enabled orbweaver'
check "it is not started either" sh -c '! systemctl --quiet is-active orbweaver'
dpkg -r orbweaver

dpkg -P orbweaver
check "purging removes the data" sh -c '! test -e /var/lib/orbweaver'
check "purging removes the settings" sh -c '! test -e /etc/orbweaver'
echo "The package was installed, used, upgraded, removed and purged."
