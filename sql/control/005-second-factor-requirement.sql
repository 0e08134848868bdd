-- Since when members need a second factor to use the workspace; NULL is never.
ALTER TABLE workspaces ADD COLUMN second_factor_since INTEGER;
