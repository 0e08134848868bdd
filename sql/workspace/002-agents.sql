-- What the overview of agents is read from. Both are indexes alone: whether an agent is suspended and
-- how much was refused stands in the log, and nowhere else.

-- The newest of these of an agent says whether it is suspended.
CREATE INDEX events_of_suspension ON events (agent_id, agent_seq)
  WHERE operation IN ('agent.suspend', 'agent.resume');

-- Refused operations by time: few, whatever else the log holds.
CREATE INDEX events_refused ON events (timestamp, agent_id, result)
  WHERE result IN ('blocked', 'denied');
