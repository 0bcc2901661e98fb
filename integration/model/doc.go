// Package model holds the whole mesh against two plain models of it. It has tests only.
//
// Random sequences of all verbs, by several workers on several queues, with deaths, lapses and the
// passing of time, run against a model that knows neither Redis nor time nor goroutines: every
// reply and the whole state have to agree after each step. They run by the thousand on the embedded
// default in virtual time, and by the hundred on a real Redis.
//
// Concurrent histories of eight clients on one queue of a real Redis have to be linearizable:
// whatever overlapped, there is an order of the operations, each at an instant between its call and
// its return, in which a plain queue would have answered the same.
//
// WORQR_MODEL_SEQUENCES, WORQR_MODEL_REAL_SEQUENCES and WORQR_MODEL_HISTORIES say how many of each.
// A failure prints its seed; WORQR_SEED runs one again.
package model
