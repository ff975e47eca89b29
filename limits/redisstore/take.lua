-- Puts an id into every bucket or, if one that doesn't hold it yet is full,
-- into none. Times are in microseconds, lives of keys in milliseconds.
-- KEYS: for each bucket the bucket and its owner's index.
-- ARGV: clock ("" for the server's), id, life of a lifetime bucket, slack,
--       then for each bucket its maximum and window (0 for none).
-- Answers {-1, used, 0} or {first full bucket, used, wait}.
local now = tonumber(ARGV[1])
if not now then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
local id, idle, slack = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local function int(n) return string.format('%.0f', n) end

-- A bucket stays for its window, or until no call asks for it for long.
local function keep(key, index, window, at)
  if window > 0 then
    redis.call('PEXPIRE', key, int(math.ceil((at - now + window) / 1000) + slack))
    return
  end
  redis.call('PEXPIRE', key, int(idle))
  redis.call('ZREMRANGEBYSCORE', index, '-inf', int(now))
  redis.call('ZADD', index, int(now + idle * 1000), key)
  redis.call('PEXPIRE', index, int(idle))
end

local missing, times = {}, {}
for i = 1, #KEYS / 2 do
  local key, index = KEYS[2 * i - 1], KEYS[2 * i]
  local max, window = tonumber(ARGV[3 + 2 * i]), tonumber(ARGV[4 + 2 * i])
  -- While the clock is behind the bucket's newest id, time stands still.
  local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local at = now
  if newest[2] then at = math.max(now, tonumber(newest[2])) end
  if newest[2] and window > 0 then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', int(at - window))
    redis.call('ZREM', index, key)
  end
  times[i] = at
  if redis.call('ZSCORE', key, id) then
    keep(key, index, window, at)
  else
    local used = redis.call('ZCARD', key)
    if used > 0 then keep(key, index, window, at) end
    if used >= max then
      local wait = 0
      if window > 0 and max > 0 then
        -- Under a maximum that was lowered, more than one has to leave.
        local last = redis.call('ZRANGE', key, used - max, used - max, 'WITHSCORES')
        wait = tonumber(last[2]) + window - at
      end
      return {i - 1, used, wait}
    end
    missing[#missing + 1] = i
  end
end
for _, i in ipairs(missing) do
  local key = KEYS[2 * i - 1]
  redis.call('ZADD', key, int(times[i]), id)
  keep(key, KEYS[2 * i], tonumber(ARGV[4 + 2 * i]), times[i])
end
return {-1, redis.call('ZCARD', KEYS[1]), 0}
