-- coordinator.Compute of a report. compute.go and split.go say why.
--
-- The fleet is one hash: server, settled, gen, and n:ID for each node, which
-- is "seq limit in_flight share gen high expires lease". It returns {share,
-- gen, limit, fair, nodes, at}, or {0} for a stale report. All numbers are
-- integers below 2^53, which a double holds exactly.
local key = KEYS[1]
local id, leaving, aggregate, split = ARGV[1], ARGV[8] == '1', ARGV[9], ARGV[10]
local r = {
	seq = tonumber(ARGV[2]), limit = tonumber(ARGV[3]), in_flight = tonumber(ARGV[4]),
	share = tonumber(ARGV[5]), gen = tonumber(ARGV[6]), lease = tonumber(ARGV[7]),
}
local columns = {'seq', 'limit', 'in_flight', 'share', 'gen', 'high', 'expires', 'lease'}

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

-- What is remembered.
local state, nodes, stored = {server = '', settled = 0, gen = 0}, {}, {}
local hash = redis.call('HGETALL', key)
for i = 1, #hash, 2 do
	local name, value = hash[i], hash[i + 1]
	if string.sub(name, 1, 2) == 'n:' then
		local node, column = {id = string.sub(name, 3)}, 0
		for number in string.gmatch(value, '%d+') do
			column = column + 1
			node[columns[column]] = tonumber(number)
		end
		nodes[#nodes + 1] = node
	elseif name == 'server' then
		state.server = value
	else
		state[name] = tonumber(value)
	end
end
if state.server ~= server then
	state, nodes = {server = server, settled = now + r.lease, gen = 0}, {}
end
state.settled = math.min(state.settled, now + r.lease)

-- The report.
local self
for _, n in ipairs(nodes) do
	n.expires = math.min(n.expires, now + n.lease)
	if n.id == id then self = n end
end
if self and r.seq <= self.seq and self.expires >= now then return {0} end
if not self then
	self = {id = id, share = 0, gen = 0, high = 0}
	nodes[#nodes + 1] = self
end
self.seq, self.limit, self.in_flight, self.lease = r.seq, r.limit, r.in_flight, r.lease
self.expires = now + r.lease
if r.gen > self.gen then self.gen, self.share = r.gen, r.share end
if r.gen == self.gen then self.high = self.share end

-- Who is there, in the order of their bytes: the server's own order of texts
-- depends on its locale.
local function before(a, b)
	for i = 1, math.min(#a.id, #b.id) do
		local x, y = string.byte(a.id, i), string.byte(b.id, i)
		if x ~= y then return x < y end
	end
	return #a.id < #b.id
end
local present = {}
for _, n in ipairs(nodes) do
	if n ~= self and n.expires >= now or n == self and not (leaving and r.in_flight == 0) then
		present[#present + 1] = n
	end
end
table.sort(present, before)

-- The split.
local function part(whole, n, i) -- i counts from 0
	local p = math.floor(whole / n)
	if i < whole % n then p = p + 1 end
	return p
end
local function limit_of_all()
	local limits = {}
	for i, n in ipairs(present) do limits[i] = n.limit end
	table.sort(limits)
	if aggregate == 'min' then return limits[1] end
	return limits[math.floor((#limits - 1) / 2) + 1]
end
local function satisfied(n, equal) return n.in_flight < math.min(n.share, equal) end
local function fair(limit, index)
	local equal = part(limit, #present, index)
	if split ~= 'demand' then return equal end
	local rest, hungry, earlier = limit, 0, 0
	for i, n in ipairs(present) do
		if satisfied(n, part(limit, #present, i - 1)) then
			rest = rest - n.in_flight - 1
		else
			hungry = hungry + 1
			if i - 1 < index then earlier = earlier + 1 end
		end
	end
	if hungry == 0 then return math.max(1, equal) end
	if satisfied(self, equal) then return self.in_flight + 1 end
	return math.max(1, part(rest, hungry, earlier))
end

-- The grant.
local grant = {0, state.gen, 0, 0, #present, now}
local index
for i, n in ipairs(present) do
	if n == self then index = i - 1 end
end
if index then
	local limit, reserved = limit_of_all(), 0
	for _, n in ipairs(present) do
		if n ~= self then reserved = reserved + math.max(n.high, n.in_flight) end
	end
	local fair_share = fair(limit, index)
	local target = fair_share
	if now < state.settled then target = math.min(target, r.share) end
	if leaving then target = 0 end
	local share = math.max(0, math.min(target, limit - reserved))
	state.gen = math.max(state.gen, self.gen)
	if share ~= self.share then
		state.gen = state.gen + 1
		self.gen, self.share = state.gen, share
	end
	self.high = math.max(self.high, share)
	grant = {share, self.gen, limit, fair_share, #present, now}
end

-- What is remembered from now on.
local fields = {'server', server, 'settled', string.format('%.0f', state.settled), 'gen', string.format('%.0f', state.gen)}
for _, n in ipairs(present) do
	local row = {}
	for i, column in ipairs(columns) do row[i] = string.format('%.0f', n[column]) end
	fields[#fields + 1] = 'n:' .. n.id
	fields[#fields + 1] = table.concat(row, ' ')
end
redis.call('DEL', key)
redis.call('HSET', key, unpack(fields))
redis.call('PEXPIRE', key, 86400000)
return grant
