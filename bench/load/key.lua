-- The API keys of a load, separated by commas: requests have them in turns.
local keys = {}
for key in os.getenv("GOVERND_KEY"):gmatch("[^,]+") do keys[#keys + 1] = key end

local agents = 8

-- Returns the headers of request number `count`.
headers_of = function(count)
  return { ["Content-Type"] = "application/json", ["X-API-Key"] = keys[count % #keys + 1] }
end

-- Returns the turn of request number `count`: those of the same turn have the same key and agent.
turn_of = function(count) return count % (agents * #keys) end

-- Returns the agent of request number `count`, one of eight; each key is used for all of them.
agent_of = function(count)
  return string.format("bench-%d", math.floor(count / #keys) % agents)
end
