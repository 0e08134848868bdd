-- The same GET request over and over.
dofile(os.getenv("LOAD_REPORT"))
local path = os.getenv("LOAD_PATH")
request = function()
  return wrk.format("GET", path, { ["X-API-Key"] = os.getenv("GOVERND_KEY") })
end
