-- Puts an id's amount into every meter or, if one would hold more than it may,
-- into none. What is spent changes an id that is there. Times are in microseconds, lives of keys in milliseconds.
-- KEYS: for each meter the times of its ids, their amounts, its owner's index.
-- ARGV: clock ("" for the server's), id, life of a lifetime meter, slack, "1" to
--       hold or "0" to spend, then for each meter its maximum (0 for none),
--       window (0 for none), the amount, and the span to fold what is spent
--       by (0 for none): it is then added to that of "+" and the span's number.
-- Amounts are under "a:" and the id, what is held also under "h:"; "s" is the
-- sum of all, "r" of those that are held.
-- Answers {-1, 0, 0, 0} or {first full meter, used, held, wait}.
local now = tonumber(ARGV[1])
if not now then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
local id, idle, slack, hold = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local function int(n) return string.format('%.0f', n) end
local function num(key, field) return tonumber(redis.call('HGET', key, field) or '0') end

local function take(times, amounts, one)
  local n = num(amounts, 'a:' .. one)
  if n == 0 then return end
  redis.call('HINCRBY', amounts, 's', int(-n))
  if redis.call('HDEL', amounts, 'h:' .. one) == 1 then redis.call('HINCRBY', amounts, 'r', int(-n)) end
  redis.call('HDEL', amounts, 'a:' .. one)
end

local function keep(times, amounts, index, window, at)
  if window > 0 then
    local life = int(math.ceil((at - now + window) / 1000) + slack)
    redis.call('PEXPIRE', times, life)
    redis.call('PEXPIRE', amounts, life)
    return
  end
  redis.call('PEXPIRE', times, int(idle))
  redis.call('PEXPIRE', amounts, int(idle))
  redis.call('ZREMRANGEBYSCORE', index, '-inf', int(now))
  redis.call('ZADD', index, int(now + idle * 1000), times, int(now + idle * 1000), amounts)
  redis.call('PEXPIRE', index, int(idle))
end

local ats = {}
for i = 1, #KEYS / 3 do
  local times, amounts, index = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local max, window, amount = tonumber(ARGV[2 + 4 * i]), tonumber(ARGV[3 + 4 * i]), tonumber(ARGV[4 + 4 * i])
  -- While the clock is behind the meter's newest id, time stands still.
  local newest = redis.call('ZRANGE', times, -1, -1, 'WITHSCORES')
  local at = now
  if newest[2] then at = math.max(now, tonumber(newest[2])) end
  if newest[2] and window > 0 then
    for _, one in ipairs(redis.call('ZRANGEBYSCORE', times, '-inf', int(at - window))) do take(times, amounts, one) end
    redis.call('ZREMRANGEBYSCORE', times, '-inf', int(at - window))
    redis.call('ZREM', index, times, amounts)
  end
  ats[i] = at
  if redis.call('EXISTS', times) == 1 then keep(times, amounts, index, window, at) end
  if hold then
    local own = num(amounts, 'a:' .. id)
    local used = num(amounts, 's') - own
    if max > 0 and used + amount > max then
      local held = num(amounts, 'r')
      if redis.call('HEXISTS', amounts, 'h:' .. id) == 1 then held = held - own end
      local wait, over = 0, used + amount - max
      if window > 0 then
        local all = redis.call('ZRANGE', times, 0, -1, 'WITHSCORES')
        for j = 1, #all, 2 do
          if all[j] ~= id then
            over = over - num(amounts, 'a:' .. all[j])
            if over <= 0 then
              wait = tonumber(all[j + 1]) + window - at
              break
            end
          end
        end
      end
      return {i - 1, used, held, wait}
    end
  end
end
for i = 1, #KEYS / 3 do
  local times, amounts, index = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local window, amount, fold = tonumber(ARGV[3 + 4 * i]), tonumber(ARGV[4 + 4 * i]), tonumber(ARGV[5 + 4 * i])
  local there = redis.call('ZSCORE', times, id)
  take(times, amounts, id)
  if amount > 0 and there and fold > 0 and not hold then
    local since = tonumber(there)
    local one = '+' .. int(math.floor(since / fold))
    local newest = redis.call('ZSCORE', times, one)
    redis.call('ZREM', times, id)
    redis.call('ZADD', times, int(math.max(since, tonumber(newest or '0'))), one)
    redis.call('HINCRBY', amounts, 'a:' .. one, int(amount))
    redis.call('HINCRBY', amounts, 's', int(amount))
    keep(times, amounts, index, window, ats[i])
  elseif amount > 0 and (hold or there) then
    redis.call('ZADD', times, 'NX', int(ats[i]), id)
    redis.call('HSET', amounts, 'a:' .. id, int(amount))
    redis.call('HINCRBY', amounts, 's', int(amount))
    if hold then
      redis.call('HSET', amounts, 'h:' .. id, '1')
      redis.call('HINCRBY', amounts, 'r', int(amount))
    end
    keep(times, amounts, index, window, ats[i])
  else
    redis.call('ZREM', times, id)
  end
  if redis.call('EXISTS', times) == 0 then
    redis.call('DEL', amounts)
    redis.call('ZREM', index, times, amounts)
  end
end
return {-1, 0, 0, 0}
