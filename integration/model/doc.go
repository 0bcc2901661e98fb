// Package model holds the whole mesh against plain models of it. It has tests only.
//
// Random sequences of all verbs, by several workers on several queues, with deaths, lapses and the
// passing of time, run against a model that knows neither Redis nor time nor goroutines: every
// reply and the whole state have to agree after each step. They run by the thousand on the embedded
// default in virtual time, and by the hundred on a real Redis.
//
// Sequences of persistent queues do the same (the files hold_*). Who holds a task their model leaves
// open, as the library does: it says which tasks are present. After each step a present task is in
// one place, whoever holds it runs a handler that knows it, and what waits is taken at once. Each
// handler looks at its begin whether another one still holds its task: none may, but with
// MakeBeforeBreak the one before, for a lapse. And each hold has to find what the one before left:
// its token, the reason for its end, and no checkpoint that is older than one that was written.
//
// Concurrent histories of eight clients on one queue of a real Redis have to be linearizable:
// whatever overlapped, there is an order of the operations, each at an instant between its call and
// its return, in which a plain queue would have answered the same.
//
// WORQR_MODEL_SEQUENCES, WORQR_MODEL_REAL_SEQUENCES, WORQR_MODEL_HOLD_SEQUENCES,
// WORQR_MODEL_REAL_HOLD_SEQUENCES and WORQR_MODEL_HISTORIES say how many of each. A failure prints
// its seed; WORQR_SEED runs one again.
package model
