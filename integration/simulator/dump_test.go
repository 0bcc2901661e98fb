package simulator

import "strings"

// dump returns every key of the database that fits a pattern, with its value where that matters, in
// one string for the mesh and one for each queue. Strings, as they are quick to write, to read, and
// to compare: most commands change one of them at the most.
const dump = `local call, match, concat = redis.call, string.match, table.concat
local L, H, S, Z, G = 1, 2, 3, 4, 5
local types = {
  tasks = L, process = L, workers = H, returning = S, idle = S, token = G, closed = G, cancels = Z, processes = Z,
  policy = H, unique = S, fast = S, holders = H, offers = H, present = H, fates = H, delayed = Z, past = H,
  checkpoints = H, shares = H,
}
local out = {{}, {}, {}}
local function add(to, key, value)
  to[#to + 1] = key
  to[#to + 1] = value
end
for _, k in ipairs(call('KEYS', ARGV[1])) do
  local rest, kind = match(k, '}([^:]*):(%a+)')
  if string.byte(k) == 123 then -- a brace: of the mesh
    local set = kind == 'workers' or kind == 'queues' or kind == 'workmap'
    add(out[1], k, set and concat(call('SMEMBERS', k), '\31') or '')
  else
    local t, v = types[kind], ''
    if t == L then v = concat(call('LRANGE', k, 0, -1), '\31')
    elseif t == H then v = concat(call('HGETALL', k), '\31')
    elseif t == S then v = concat(call('SMEMBERS', k), '\31')
    elseif t == Z then v = concat(call('ZRANGE', k, 0, -1, 'WITHSCORES'), '\31')
    elseif t == G then v = call('GET', k) end
    add(out[rest == '' and 2 or 3], k, v)
  end
end
for i = 1, 3 do out[i] = concat(out[i], '\30') end
return out`

// everything is the pattern of all keys, and meshSlot and queueSlot those of the two slots. A
// script works in one of them: what is in the other is read with every fourth.
const everything, meshSlot, queueSlot = "*", "{*", namespace + ":*"

// newState reads what dump answered. A part that is as before is taken over: states never change.
func newState(sections []string, before *state) (*state, error) {
	s := &state{raw: sections, queues: map[string]*queueState{}}
	if same := before != nil && before.raw[0] == sections[0]; same {
		s.meshState = before.meshState
	} else {
		s.meshState = newMeshState()
		if err := entries(sections[0], s.meshKey); err != nil {
			return nil, err
		}
	}
	for i, name := range queues {
		if before != nil && before.raw[i+1] == sections[i+1] {
			s.queues[name] = before.queues[name]
			continue
		}
		q := newQueueState()
		s.queues[name] = q
		prefix := queueKey(name) + ":"
		err := entries(sections[i+1], func(key string, values []string) error {
			rest, ours := strings.CutPrefix(key, prefix)
			if !ours {
				s.other = append(s.other, key)
				return nil
			}
			return q.queueKey(rest, values, &s.other)
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// nothing is what dump answers of an empty database.
var nothing = []string{"", "", ""}

// entries calls fn for each key of one section.
func entries(section string, fn func(key string, values []string) error) error {
	for section != "" {
		var key, value string
		key, section, _ = strings.Cut(section, "\x1e")
		value, section, _ = strings.Cut(section, "\x1e")
		var values []string
		if value != "" {
			values = strings.Split(value, "\x1f")
		}
		if err := fn(key, values); err != nil {
			return err
		}
	}
	return nil
}
