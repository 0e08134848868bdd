-- JSON array of the addresses and networks (CIDR) that requests with the key may come from; NULL is everywhere.
ALTER TABLE api_keys ADD COLUMN networks TEXT;
