\set note random(0, 1999)
\set agent :note % 8
INSERT INTO entries (agent_id, key, value, metadata) VALUES ('bench-' || :agent, 'note/' || :client_id || '/' || :note, 'The customer prefers a morning delivery, asked for the blue one and pays by invoice within thirty days; the parcel was sent by road and arrived on time, said the driver who called.', '{"source":"chat","confidence":0.92}') ON CONFLICT (agent_id, key) DO UPDATE SET value = excluded.value, metadata = excluded.metadata;
