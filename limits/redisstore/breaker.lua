-- Asks a breaker (admit, state) or tells it of an outcome (1, 2, 3 as in
-- limits.Outcome). Times are in microseconds, lives of keys in milliseconds.
-- KEYS: the tripped breaker's hash (at: when it was last written, open: until
--       when, probe: which call, till: until when), the failures.
-- ARGV: clock ("" for the server's), question, call, failures, window,
--       open_for, life of a tripped breaker, slack.
-- Answers {admitted, is the probe, wait}, or {state} as in limits.State.
local now = tonumber(ARGV[1])
if not now then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
local state, fails = KEYS[1], KEYS[2]
local ask, call = ARGV[2], ARGV[3]
local failures, window, openfor = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local idle, slack = tonumber(ARGV[7]), tonumber(ARGV[8])
local function int(n) return string.format('%.0f', n) end

local function write(at, ...)
  redis.call('HSET', state, 'at', int(at), ...)
  redis.call('PEXPIRE', state, int(math.ceil((at - now + openfor) / 1000) + idle))
end
local function trip(at)
  redis.call('DEL', state, fails)
  write(at, 'open', int(at + openfor))
end

local b = redis.call('HMGET', state, 'at', 'open', 'probe', 'till')
if not b[1] then -- closed
  if ask == 'state' then return {1} end
  if ask == 'admit' then return {1, 0, 0} end
  if ask ~= '2' then return {0} end
  local newest = redis.call('ZRANGE', fails, -1, -1, 'WITHSCORES')
  local at = now
  if newest[2] then at = math.max(now, tonumber(newest[2])) end
  redis.call('ZREMRANGEBYSCORE', fails, '-inf', int(at - window))
  redis.call('ZADD', fails, 'NX', int(at), call)
  if redis.call('ZCARD', fails) >= failures then
    trip(at)
  else
    redis.call('PEXPIRE', fails, int(math.ceil((at - now + window) / 1000) + slack))
  end
  return {0}
end

-- While the clock is behind the last write, time stands still.
local at = math.max(now, tonumber(b[1]))
local open, probe, till = tonumber(b[2]), b[3], tonumber(b[4] or 0)
if ask == 'state' then return {at < open and 2 or 3} end
if ask == 'admit' then
  if at < open then return {0, 0, open - at} end
  if probe and probe ~= call and at < till then return {0, 0, till - at} end
  if probe ~= call then write(at, 'probe', call, 'till', int(at + openfor)) end
  return {1, 1, 0}
end
if probe ~= call then return {0} end -- only the probe's word counts
if ask == '1' then
  redis.call('DEL', state, fails)
elseif ask == '2' then
  trip(at)
else
  redis.call('HDEL', state, 'probe', 'till')
  write(at)
end
return {0}
