-- Indexes for the overview of agents. Only the log states whether an agent is suspended and what was refused.

-- An agent's newest event of these states whether it is suspended.
CREATE INDEX events_of_suspension ON events (agent_id, agent_seq)
  WHERE operation IN ('agent.suspend', 'agent.resume');

-- Refused operations by time: few, whatever else the log holds.
CREATE INDEX events_refused ON events (timestamp, agent_id, result)
  WHERE result IN ('blocked', 'denied');
