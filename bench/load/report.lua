-- Prints what a load measured as one line of JSON, times in microseconds. Every script of a load runs this file.
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"longest":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    latency.max, errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
