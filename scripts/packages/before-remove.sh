# Before the files of a removed package go away. The data, the settings and the user stay.
if [ -d /run/systemd/system ]; then
  systemctl --quiet disable --now governd.service
else
  rm -f /etc/systemd/system/multi-user.target.wants/governd.service
fi
