// Package share computes who should hold how many persistent tasks of a queue, and how fast to get
// there. All of it is pure: no Redis, no goroutine, no clock. Times come in as arguments and state
// as small values, so that whoever sweeps the next round goes on where another stopped. It imports
// the standard library only.
//
// # The rule
//
// A member takes tasks in proportion to its weight. Its target is its fair share in whole tasks.
// Its surplus is what it holds above the target. A move is one task given up, for another member to
// take. Load is tasks held per weight. A plan is fair if it hands out every task that the limits
// leave room for, and has the least sum of weight * (load - mean load)^2. The rule hands out the
// tasks one by one, each to the member with the greatest weight/(2k+1) that has k tasks so far and
// has room (the divisor method of Webster and Sainte-Laguë). So the next tasks of all members stand
// in ONE order, and a plan consists of the first of them, as many as there are tasks. From that
// follows:
//
//   - One more member raises nobody's target: a join moves tasks to the new member alone. One
//     member less lowers nobody's.
//   - One more waiting task lowers nobody's target: it moves nothing.
//   - Members of equal weight differ by at most 1, unless the lower one has no more room.
//   - What limits, draining and joining leave over goes to the others in the same order.
//
// The method of largest remainders always stays within one task of the exact share, but has none of
// these properties. With it 10 tasks over weights 6, 6, 2 make 4, 4, 2 and 11 make 5, 5, 1, so a
// new task would cost a move. No method has both, and this one deviates least: no transfer of a
// task brings two members nearer to their exact shares. It deviates where most members round the
// same way: 15 tasks over one weight of 10 and ten of 1 make 5 and ten times 1, where 7.5 and ten
// times 0.75 are exact.
//
// # Why no fair plan needs fewer moves
//
// Fair plans differ only among members whose next tasks are equal at the cut. Each of these members
// gets k or k+1, with its own k, and a fixed number of them get k+1. That saves a move exactly for
// those that hold more than k, so they come first; after that Rank and ID decide. The number of
// moves is the sum of the surpluses. No way to this plan gives up less, and no fair plan has less.
//
// # Why it never swings back
//
// However much of a plan is carried out, and in whatever order, it stays the plan. A member gives
// up only down to its target and takes only up to it. So a member that got k+1 because it holds
// more than k goes on holding more than k, and one that got k never comes to hold more. The number
// of tasks, in hand and waiting, stays the same. So the targets stay, and each task given up is one
// move less. Between two fair states nothing ever moves: 6 and 5 stay, and so do 5 and 5, and 5 and
// 6. A move needs 6 and 4.
//
// # Example
//
//	                       weight  held   target  surplus  take
//	balanced            a       1     6        6        0     0    11 tasks: the odd one stays
//	                    b       1     5        5        0     0
//	c joins             a       1     6        4        2     0    3 moves, all of them to c:
//	                    b       1     5        4        1     0    a and b keep the odd ones
//	                    c       1     0        3        0     3
//	c is twice as big   a       1     6        3        3     0
//	                    b       1     5        3        2     0
//	                    c       2     0        5        0     5
//	b drains            a       1     6        7        0     1    limit 7: what has no room waits
//	                    b       0     5        0        5     0
//
// # A round
//
// The sweeper reads a snapshot. Settling.Step returns how long moves still have to wait, Plan what
// is to be done, Budget.Draw how many moves may begin, and Grants who begins them. The sweeper
// publishes the grants, and each worker applies its own. A lost grant is made good in a later
// round. Takes need no grant: a member below its target may take what waits.
package share
