# After the files are gone. The audit trail is evidence, so only a person deletes it.
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ -d /var/lib/governd ]; then echo "The data are kept: /var/lib/governd (they belong to the user governd)"; fi
