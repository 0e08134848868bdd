# After the files are in place: the user, the directories and the service. $action is "install" or "upgrade".
if ! getent passwd governd >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/governd --no-create-home --shell /usr/sbin/nologin governd
fi
install -d -m 700 -o governd -g governd /var/lib/governd
# It may contain the paths of secrets and private addresses.
chown root:governd /etc/governd/governd.toml
chmod 640 /etc/governd/governd.toml
if [ -e /etc/systemd/system/governd.service ]; then
  echo "governd: /etc/systemd/system/governd.service takes precedence over the unit of this package." >&2
  echo "governd: If install.sh wrote it, remove it with: sh install.sh --uninstall" >&2
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # An upgrade does not start a service that the operator has stopped.
  if [ "$action" = upgrade ]; then systemctl try-restart governd.service; fi
fi
if [ "$action" = install ]; then
  echo "governd is installed. Its settings are in /etc/governd/governd.toml. Start it with the machine, and now:"
  echo "  systemctl enable --now governd"
  echo "The link for the first account: runuser -u governd -- governd account link --config /etc/governd/governd.toml"
fi
