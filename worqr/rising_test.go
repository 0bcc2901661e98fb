package worqr_test

import (
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
)

// What rising writes is what num writes, number after number.
func TestNumbersThatRise(t *testing.T) {
	t.Parallel()
	c := redistest.Shared(t).Conn(t)
	wrong, err := redis.String(c.Do("EVAL", wire.Text("lib.lua")+`
		for _, first in ipairs({0, 1, 7, 9, 10, 98, 99990, 999999990, 1e9, 1790000000000000 - 5, 2^53 - 600}) do
			local written = rising(first)
			for x = first, first + 500 do
				local got = written()
				if got ~= num(x) then return got .. ' in place of ' .. num(x) end
			end
		end
		return ''`, 1, "rising", "root", "queue"))
	if err != nil || wrong != "" {
		t.Errorf("%q, %v", wrong, err)
	}
}
