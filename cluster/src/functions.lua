#!lua name=twindex_4

-- What Twindex does inside a server, in one step each. Values go through as bytes.
-- A sorted table's partition is two keys: KEYS[1] a HASH of its pairs, KEYS[2] a ZSET of its keys in their order.

local function register(name, callback, flags)
  redis.register_function{function_name = 'twindex_4_' .. name, callback = callback, flags = flags or {}}
end

-- Says which keys of a partition were written, on the channel that is called as its HASH is: each behind its length in two
-- bytes. Near caches listen.
local function tell(channel, written)
  if #written == 0 then return end
  for i, key in ipairs(written) do
    written[i] = string.char(math.floor(#key / 256), #key % 256) .. key
  end
  redis.call('SPUBLISH', channel, table.concat(written))
end

-- Runs a verb on each group of arguments, which begins with a key, and gives all that it answers. The verb also returns whether
-- it wrote.
local function each(size, verb)
  return function(keys, args)
    local answers, written = {}, {}
    for i = 1, #args, size do
      local answer, wrote = verb(keys, args, i)
      answers[#answers + 1] = answer
      if wrote then written[#written + 1] = args[i] end
    end
    tell(keys[1], written)
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

-- Puts keys into the order, all by one command.
local function enter(order, fields)
  local scored = {}
  for i, field in ipairs(fields) do
    scored[2 * i - 1], scored[2 * i] = 0, field
  end
  if #fields > 0 then redis.call('ZADD', order, unpack(scored)) end
end

register('insert', function(keys, args)
  local answers, written = {}, {}
  for i = 1, #args, 2 do
    local is_new = redis.call('HSETNX', keys[1], args[i], args[i + 1])
    answers[#answers + 1] = is_new
    if is_new == 1 then written[#written + 1] = args[i] end
  end
  enter(keys[2], written)
  tell(keys[1], written)
  return answers
end)

register('replace', each(2, function(keys, args, i)
  if redis.call('HEXISTS', keys[1], args[i]) == 0 then return 0 end
  redis.call('HSET', keys[1], args[i], args[i + 1])
  return 1, true
end))

register('upsert', function(keys, args)
  local answers, written = {}, {}
  for i = 1, #args, 2 do
    answers[#answers + 1], written[#written + 1] = 1, args[i]
  end
  redis.call('HSET', keys[1], unpack(args))
  enter(keys[2], written)
  tell(keys[1], written)
  return answers
end)

register('delete', each(1, function(keys, args, i)
  local removed = remove(keys, args[i])
  return removed, removed == 1
end), {'allow-oom'})

-- The key, whether it must be present, its value then, whether it shall be, its value then. A server without memory does what
-- only removes: functions whose names begin with "un" are called for that.
local swap = each(5, function(keys, args, i)
  local old = redis.call('HGET', keys[1], args[i])
  local expected = args[i + 1] == '1' and args[i + 2]
  if old ~= expected then return 0 end
  if args[i + 3] == '1' then
    put(keys, args[i], args[i + 4])
  else
    remove(keys, args[i])
  end
  return 1, true
end)
register('swap', swap)
register('unswap', swap, {'allow-oom'})

-- The key and the amount; the sum as text, since Lua's numbers have 53 bits. False where it is no integer.
register('increment', each(2, function(keys, args, i)
  local sum = redis.pcall('HINCRBY', keys[1], args[i], args[i + 1])
  if type(sum) == 'table' then return false end
  redis.call('ZADD', keys[2], 0, args[i])
  return redis.call('HGET', keys[1], args[i]), true
end))

-- Removes a partition. An empty message says that all of it is gone.
register('clear', function(keys)
  redis.call('SPUBLISH', keys[1], '')
  return redis.call('UNLINK', keys[1], keys[2])
end, {'allow-oom'})

-- Makes the order anew from the pairs. A server that evicts may have dropped one of the two keys, and told no near cache.
register('mend', function(keys)
  redis.call('DEL', keys[2])
  for _, field in ipairs(redis.call('HKEYS', keys[1])) do
    redis.call('ZADD', keys[2], 0, field)
  end
  redis.call('SPUBLISH', keys[1], '')
  return 1
end)

-- Up to so many pairs of a range: whether there may be more, -1 if the order must be mended first, their keys and, beside them, their values. The client says how
-- many values will fit into so many bytes, by the pairs that it has read. If some are much longer, they are read in groups that
-- begin with one and grow while pairs are short.
register('page', function(keys, args)
  if redis.call('HLEN', keys[1]) ~= redis.call('ZCARD', keys[2]) then return {-1, {}, {}} end
  local found, limit, group = nil, tonumber(args[5]), tonumber(args[6])
  if args[3] == '1' then
    found = redis.call('ZRANGE', keys[2], args[2], args[1], 'BYLEX', 'REV', 'LIMIT', 0, args[4])
  else
    found = redis.call('ZRANGE', keys[2], args[1], args[2], 'BYLEX', 'LIMIT', 0, args[4])
  end
  local count, more = #found, #found == tonumber(args[4]) and 1 or 0
  if count == 0 then return {0, found, {}} end
  for i = count, 1, count < 64 and -14 or -32 do
    if redis.call('HSTRLEN', keys[1], found[i]) * count > 4 * limit then group = 1 end
  end
  if count <= group then return {more, found, redis.call('HMGET', keys[1], unpack(found))} end
  local values, bytes = {}, 0
  while #values < count and bytes < limit do
    local last = math.min(#values + group, count)
    if redis.call('HSTRLEN', keys[1], found[last]) * group > limit then last = #values + 1 end
    local some = redis.call('HMGET', keys[1], unpack(found, #values + 1, last))
    local length = 0
    for i = 1, #some do
      values[#values + 1] = some[i]
      length = length + #found[#values] + #(some[i] or '')
    end
    bytes = bytes + length
    group = math.max(1, math.min(#some * 4, math.floor(limit * #some / (length + 1)), 64))
  end
  if #values < count then more = 1 end
  for i = count, #values + 1, -1 do found[i] = nil end
  return {more, found, values}
end, {'no-writes'})

-- A hash table's pair is one string. Whether it must be present, its value then, whether it shall be, its value then.
local function swap_one(keys, args)
  local old = redis.call('GET', keys[1])
  local expected = args[1] == '1' and args[2]
  if old ~= expected then return 0 end
  if args[3] == '1' then
    redis.call('SET', keys[1], args[4], 'KEEPTTL')
  else
    redis.call('DEL', keys[1])
  end
  return 1
end
register('swap_one', swap_one)
register('unswap_one', swap_one, {'allow-oom'})

-- A batch: steps of five arguments each, a verb, 1 for a pair of a sorted table or 0 for one of a hash table, the place of its
-- first key, its key in the sorted table, a value. Expectations come before all writes, wherever they stand.
local function held(keys, is_sorted, at, field)
  if is_sorted then return redis.call('HGET', keys[at], field) end
  return redis.call('GET', keys[at])
end

local function set(keys, is_sorted, at, field, value)
  if is_sorted then
    put({keys[at], keys[at + 1]}, field, value)
  else
    redis.call('SET', keys[at], value)
  end
end

local function unset(keys, is_sorted, at, field)
  if is_sorted then
    remove({keys[at], keys[at + 1]}, field)
  else
    redis.call('DEL', keys[at])
  end
end

-- Whether it could be added. What the server does not take for an integer, such as +7, is written as it likes it first.
local function add(keys, is_sorted, at, field, by, old)
  local function sum()
    if is_sorted then return redis.pcall('HINCRBY', keys[at], field, by) end
    return redis.pcall('INCRBY', keys[at], by)
  end
  local is_done = type(sum()) ~= 'table'
  local sign, digits = (old or ''):match('^([+-]?)0*(%d+)$')
  if not is_done and digits and #digits < 20 then
    local plain = (sign == '-' and digits ~= '0' and '-' or '') .. digits
    if is_sorted then
      redis.call('HSET', keys[at], field, plain)
    else
      redis.call('SET', keys[at], plain, 'KEEPTTL')
    end
    is_done = type(sum()) ~= 'table'
  end
  if is_done and is_sorted then redis.call('ZADD', keys[at + 1], 0, field) end
  return is_done
end

local function batch(keys, args)
  local failed, expectations, adds = {}, 0, false
  for i = 1, #args, 5 do
    local verb = args[i]
    adds = adds or verb == 'n'
    if verb == 'e' or verb == 'a' then
      local old = held(keys, args[i + 1] == '1', tonumber(args[i + 2]), args[i + 3])
      if old ~= (verb == 'e' and args[i + 4]) then failed[#failed + 1] = expectations end
      expectations = expectations + 1
    end
  end
  if #failed > 0 then return {'unexpected', failed} end
  local took, undo, written = {}, {}, {}
  for i = 1, #args, 5 do
    local verb, is_sorted, at, field = args[i], args[i + 1] == '1', tonumber(args[i + 2]), args[i + 3]
    if verb ~= 'e' and verb ~= 'a' then
      local old = held(keys, is_sorted, at, field)
      local is_due = verb == 'u' or verb == 'n' or (old and verb ~= 'i') or (not old and verb == 'i')
      -- Only an addition can fail, and then what was done before it is undone.
      if adds and is_due then
        local ttl = not is_sorted and redis.call('PTTL', keys[at])
        undo[#undo + 1] = {is_sorted, at, field, old, ttl}
      end
      if is_due then
        if verb == 'd' then
          unset(keys, is_sorted, at, field)
        elseif verb ~= 'n' then
          set(keys, is_sorted, at, field, args[i + 4])
        elseif not add(keys, is_sorted, at, field, args[i + 4], old) then
          for back = #undo, 1, -1 do
            local sorted, place, name, was, left = unpack(undo[back])
            if was then set(keys, sorted, place, name, was) else unset(keys, sorted, place, name) end
            if left and left > 0 then redis.call('PEXPIRE', keys[place], left) end
          end
          return {'no sum', {(i - 1) / 5, old}}
        end
      end
      took[#took + 1] = is_due and 1 or 0
      if is_due and is_sorted then
        local channel = keys[at]
        written[channel] = written[channel] or {}
        table.insert(written[channel], field)
      end
    end
  end
  for channel, fields in pairs(written) do tell(channel, fields) end
  return {'done', took}
end
register('batch', batch)
register('unbatch', batch, {'allow-oom'})

-- The catalogue: KEYS[1] a HASH of each table's name and what it is, KEYS[2] a HASH of dropped generations that still have
-- keys. An entry is "index generation partitions" and the codecs. Answers whether it was made, and the entry.
register('table', function(keys, args)
  local entry = redis.call('HGET', keys[1], args[1])
  if entry then return {0, entry} end
  redis.call('HSET', keys[1], args[1], args[2])
  return {1, args[2]}
end)

register('drop', function(keys, args)
  local entry = redis.call('HGET', keys[1], args[1])
  if not entry then return 0 end
  local index, generation, partitions = entry:match('^(%S+) (%S+) (%S+)')
  redis.call('HSET', keys[2], generation, index .. ' ' .. generation .. ' ' .. partitions .. ' ' .. args[1])
  redis.call('HDEL', keys[1], args[1])
  return 1
end, {'allow-oom'})
