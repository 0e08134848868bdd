-- Batches of new records in PocketBase, of the same entries.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
local count = 0
local make = function(count)
  local requests = batch(count, function(members)
    return string.format(
      '{"method":"POST","url":"/api/collections/notes/records","body":{"agent_id":"bench-%d",%s}}', count % 8, members)
  end)
  return wrk.format("POST", "/api/batch", { ["Content-Type"] = "application/json" }, '{"requests":' .. requests .. "}")
end
request = function()
  count = count + 1
  return once(count, count % 8, make)
end
