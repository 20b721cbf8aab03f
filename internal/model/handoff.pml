/* The protocol of handoff_test.go, step for step, for Spin: two nodes share a
 * budget of requests in flight by grants that may come late.
 *
 * scripts/model runs it: the protocol itself, in which Spin must count as many
 * states as the explorer of the tests, and each FAULT, which must break the
 * PROMISE that it is about.
 */
#define BUDGET 4
#define GRANTS 3

/* FAULT: the part that is taken away. */
#define none       0
#define naive      1
#define share_only 2
#define suffix     3
#define reported   4
#define torn       5
#ifndef FAULT
#define FAULT none
#endif

typedef member {
	byte issued, applied, in_flight, acked, told;
	byte shares[GRANTS]
}
member m[2];
byte fleet = 1; /* a bit for each node that is in it */
#define HERE(i) ((fleet >> (i)) & 1)

#define MAX(a, b) ((a) > (b) -> (a) : (b))
/* SHARE is that of a grant: 0 for grant 0. */
#define SHARE(i, g) (m[i].shares[0] * ((g) == 1) + m[i].shares[1] * ((g) == 2) + m[i].shares[2] * ((g) == 3))
#define COMMITTED(i) SHARE(i, m[i].issued)
/* OPEN is a grant that may still be in force, or come into it. */
#define OPEN(i, g) ((g) <= m[i].issued && (g) >= m[i].acked -> m[i].shares[g - 1] : 0)
#define UNACKED(i) MAX(OPEN(i, 1), MAX(OPEN(i, 2), OPEN(i, 3)))

#if FAULT == naive
#define RESERVE(i) 0
#elif FAULT == share_only
#define RESERVE(i) COMMITTED(i)
#elif FAULT == suffix
#define RESERVE(i) UNACKED(i)
#elif FAULT == reported
#define RESERVE(i) MAX(COMMITTED(i), MAX(SHARE(i, m[i].acked), m[i].told))
#else
#define RESERVE(i) MAX(UNACKED(i), m[i].told)
#endif

#define TARGET (HERE(0) && HERE(1) -> (BUDGET + 1) / 2 : BUDGET)
#define LEFT(i) (RESERVE(i) < BUDGET -> BUDGET - RESERVE(i) : 0)
#define GRANT(i) (TARGET < LEFT(i) -> TARGET : LEFT(i))

#define GlobalCap        (COMMITTED(0) + COMMITTED(1) <= BUDGET)
#define InflightCap      (m[0].in_flight + m[1].in_flight <= BUDGET)
#define GlobalCapTight   (COMMITTED(0) + COMMITTED(1) < BUDGET)
#define InflightCapTight (m[0].in_flight + m[1].in_flight < BUDGET)
#ifndef PROMISE
#define PROMISE (GlobalCap && InflightCap)
#endif

inline clear(i) {
	m[i].issued = 0; m[i].applied = 0; m[i].in_flight = 0; m[i].acked = 0; m[i].told = 0;
	m[i].shares[0] = 0; m[i].shares[1] = 0; m[i].shares[2] = 0
}

#define I _pid
#define O (1 - _pid)

active [2] proctype node() {
end:	do
	:: atomic { !HERE(I) -> fleet = fleet | (1 << I) }
	:: atomic { HERE(I) && HERE(O) -> fleet = fleet & (1 << O); clear(I) }
	:: atomic { HERE(I) && m[I].issued < GRANTS ->
		m[I].shares[m[I].issued] = GRANT(O); m[I].issued++ }
	/* It applies a grant, also one before the last. */
	:: atomic { HERE(I) && m[I].applied < 1 && m[I].issued >= 1 -> m[I].applied = 1 }
	:: atomic { HERE(I) && m[I].applied < 2 && m[I].issued >= 2 -> m[I].applied = 2 }
	:: atomic { HERE(I) && m[I].applied < 3 && m[I].issued >= 3 -> m[I].applied = 3 }
	/* It reports. */
	:: atomic { FAULT != torn && HERE(I) -> m[I].acked = m[I].applied; m[I].told = m[I].in_flight }
	:: atomic { FAULT == torn && HERE(I) -> m[I].acked = m[I].applied }
	:: atomic { FAULT == torn && HERE(I) -> m[I].told = m[I].in_flight }
	/* It sends, and is answered. */
	:: atomic { HERE(I) && m[I].in_flight < SHARE(I, m[I].applied) -> m[I].in_flight++ }
	:: atomic { m[I].in_flight > 0 -> m[I].in_flight-- }
	od
}

active proctype rest() {
end:	do
	:: atomic { !(PROMISE) -> assert(PROMISE) }
	od
}
