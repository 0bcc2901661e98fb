package pipeline

// ring is a queue that reuses its array.
type ring struct {
	items []flight
	first int
	n     int
}

func (r *ring) len() int { return r.n }

func (r *ring) front() *flight { return &r.items[r.first] }

func (r *ring) at(i int) *flight { return &r.items[(r.first+i)%len(r.items)] }

func (r *ring) push(f flight) {
	if r.n == len(r.items) {
		grown := make([]flight, max(16, 2*r.n))
		for i := range r.n {
			grown[i] = r.items[(r.first+i)%r.n]
		}
		r.items, r.first = grown, 0
	}
	r.items[(r.first+r.n)%len(r.items)] = f
	r.n++
}

func (r *ring) pop() flight {
	f := r.items[r.first]
	r.items[r.first] = flight{} // frees the request
	r.first = (r.first + 1) % len(r.items)
	r.n--
	return f
}
