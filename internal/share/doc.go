// Package share says who should hold how many persistent tasks of a queue, and how fast to get
// there. All of it is pure: no Redis, no goroutine, no clock. Times come in as arguments, and state
// as small values, so that whoever sweeps the next round goes on where another stopped. Standard
// library only.
//
// # The rule
//
// A member takes tasks in proportion to its weight. Its target is its fair share, in whole tasks;
// its surplus is what it holds above that; a move is one task given up, for another member to take.
// Load is tasks held per weight. A fair plan hands out every task that limits leave room for, and
// has the least sum of weight * (load - mean load)^2. It is had by handing out tasks one by one,
// each to the member with the greatest weight/(2k+1) that has k so far and has room (the divisor
// method of Webster and Sainte-Laguë). So all next tasks of all members stand in ONE order, and a
// plan is as many of the first as there are tasks. From that follows:
//
//   - One member more raises nobody's target: a join moves tasks to the joiner alone. One that went lowers nobody's.
//   - One waiting task more lowers nobody's target: it moves nothing.
//   - Members of equal weight differ by at most 1, unless the lower one has no more room.
//   - What limits, draining and joining leave over goes to the others by the same order.
//
// Largest remainders always stay within one task of the exact share, but keep none of this: 10
// tasks over weights 6, 6, 2 make 4, 4, 2 and 11 make 5, 5, 1, so a new task would cost a move. No
// method has both, and this one strays least: no transfer of a task brings two members nearer to
// their exact shares. It strays where most round the same way: 15 tasks over one weight of 10 and
// ten of 1 make 5 and ten times 1, where 7.5 and ten times 0.75 are exact.
//
// # Why no fair plan needs fewer moves
//
// Fair plans differ only among members whose next tasks stand equal at the cut: each of them gets k
// or k+1, its own k, and a fixed number of them k+1. That saves a move exactly for those that hold
// more than k, so they come first; then Rank and ID decide. The moves are the sum of the surpluses:
// no way to a plan gives up less, and no fair plan has less.
//
// # Why it never swings back
//
// Carried out in any part and any order, a plan stays the plan. A member gives up only down to its
// target and takes only up to it: so one that got k+1 for holding more than k goes on doing so, and
// one that got k never comes to hold more. The number of tasks, in hand and waiting, stays too. So
// the targets stay, and each task given up is one move less. Between two fair states nothing ever
// moves: 6 and 5 stay, and so do 5 and 5, and 5 and 6. A move needs 6 and 4.
//
// # Example
//
//	                       weight  held   target  surplus  take
//	balanced            a       1     6        6        0     0    11 tasks: the odd one stays where it is
//	                    b       1     5        5        0     0
//	c joins             a       1     6        4        2     0    3 moves, all of them to c:
//	                    b       1     5        4        1     0    a and b keep the odd ones, as they hold them
//	                    c       1     0        3        0     3
//	c is twice as big   a       1     6        3        3     0
//	                    b       1     5        3        2     0
//	                    c       2     0        5        0     5
//	b drains            a       1     6        7        0     1    limit 7: what has no room waits
//	                    b       0     5        0        5     0
//
// # A round
//
// The sweeper reads a snapshot and asks Settling.Step whether the members have been at rest for
// long enough, Plan what is to be done, Budget.Draw how many moves may begin, and Grants who begins
// them. It publishes the grants, and each worker applies its own. One that is lost is made good in
// a later round. Takes need no grant: whoever is below its target may take what waits.
package share
