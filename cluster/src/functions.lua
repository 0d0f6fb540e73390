#!lua name=twindex_1

-- What Twindex does inside a server, in one step each. Values go through as bytes.
-- A sorted table's partition is two keys: KEYS[1] a HASH of its pairs, KEYS[2] a ZSET of its keys in their order.

local function register(name, callback, flags)
  redis.register_function{function_name = 'twindex_1_' .. name, callback = callback, flags = flags or {}}
end

-- Runs a verb on each group of arguments, and gives all that it answers.
local function each(size, verb)
  return function(keys, args)
    local answers = {}
    for i = 1, #args, size do
      answers[#answers + 1] = verb(keys, args, i)
    end
    return answers
  end
end

local function put(keys, key, value)
  if redis.call('HSET', keys[1], key, value) == 1 then
    redis.call('ZADD', keys[2], 0, key)
  end
end

local function remove(keys, key)
  local removed = redis.call('HDEL', keys[1], key)
  if removed == 1 then
    redis.call('ZREM', keys[2], key)
  end
  return removed
end

register('insert', each(2, function(keys, args, i)
  if redis.call('HSETNX', keys[1], args[i], args[i + 1]) == 0 then return 0 end
  redis.call('ZADD', keys[2], 0, args[i])
  return 1
end))

register('replace', each(2, function(keys, args, i)
  if redis.call('HEXISTS', keys[1], args[i]) == 0 then return 0 end
  redis.call('HSET', keys[1], args[i], args[i + 1])
  return 1
end))

register('upsert', each(2, function(keys, args, i)
  put(keys, args[i], args[i + 1])
  return 1
end))

register('delete', each(1, function(keys, args, i)
  return remove(keys, args[i])
end), {'allow-oom'})

-- The key, whether it must be present, its value then, whether it shall be, its value then.
register('swap', each(5, function(keys, args, i)
  local old = redis.call('HGET', keys[1], args[i])
  local expected = args[i + 1] == '1' and args[i + 2]
  if old ~= expected then return 0 end
  if args[i + 3] == '1' then
    put(keys, args[i], args[i + 4])
  else
    remove(keys, args[i])
  end
  return 1
end))

-- The key and the amount; the sum as text, since Lua's numbers have 53 bits. False where it is no integer.
register('increment', each(2, function(keys, args, i)
  local sum = redis.pcall('HINCRBY', keys[1], args[i], args[i + 1])
  if type(sum) == 'table' then return false end
  redis.call('ZADD', keys[2], 0, args[i])
  return redis.call('HGET', keys[1], args[i])
end))

-- Up to so many pairs of a range: their keys and, beside them, their values.
register('page', function(keys, args)
  local found
  if args[3] == '1' then
    found = redis.call('ZRANGE', keys[2], args[2], args[1], 'BYLEX', 'REV', 'LIMIT', 0, args[4])
  else
    found = redis.call('ZRANGE', keys[2], args[1], args[2], 'BYLEX', 'LIMIT', 0, args[4])
  end
  if #found == 0 then return {found, {}} end
  return {found, redis.call('HMGET', keys[1], unpack(found))}
end, {'no-writes'})

-- A hash table's pair is one string. Whether it must be present, its value then, whether it shall be, its value then.
register('swap_one', function(keys, args)
  local old = redis.call('GET', keys[1])
  local expected = args[1] == '1' and args[2]
  if old ~= expected then return 0 end
  if args[3] == '1' then
    redis.call('SET', keys[1], args[4], 'KEEPTTL')
  else
    redis.call('DEL', keys[1])
  end
  return 1
end)

-- The catalogue: KEYS[1] a HASH of each table's name and what it is, under the empty name the last generation; KEYS[2] a
-- HASH of dropped generations that still have keys. An entry is "index generation partitions" and the codecs.
register('table', function(keys, args)
  local entry = redis.call('HGET', keys[1], args[1])
  if entry or args[2] == '' then return entry end
  entry = args[2] .. ' ' .. redis.call('HINCRBY', keys[1], '', 1) .. ' ' .. args[3]
  redis.call('HSET', keys[1], args[1], entry)
  return entry
end)

register('drop', function(keys, args)
  local entry = redis.call('HGET', keys[1], args[1])
  if not entry then return 0 end
  local index, generation, partitions = entry:match('^(%S+) (%S+) (%S+)')
  redis.call('HSET', keys[2], generation, index .. ' ' .. generation .. ' ' .. partitions .. ' ' .. args[1])
  redis.call('HDEL', keys[1], args[1])
  return 1
end, {'allow-oom'})
