/* The protocol of protocol_test.go and commit_test.go, step for step, for Spin.
 *
 * scripts/model runs it: the protocol itself, in which Spin must count as many
 * states as the explorer of the tests, and each FAULT, which must break the
 * PROMISE that it is about.
 */
#ifndef RUNNERS
#define RUNNERS 2
#endif
#ifndef SLICES
#define SLICES 2
#endif
#ifndef MISHAPS
#define MISHAPS 3
#endif

/* FAULT: the part that is taken away. */
#define none             0
#define aged_lock        1
#define kept_lock        2
#define no_epoch         3
#define early_epoch      4
#define neither          5 /* no epoch, no comparison */
#define cursor_first     6
#define gap_closed_first 7
#define gap_opened_later 8
#define gaps_kept        9
#define believed         10
#define repeated         11
#define any_epoch        12
#define any_checkpoint   13
#define overtakes        14
#define hasty            15
#ifndef FAULT
#define FAULT none
#endif

/* What a process is doing. */
#define dead      0
#define locked    1
#define signed_   2
#define ready     3
#define filling   4
#define holding   5
#define checked   6
#define unknown   7
#define unread    8
#define ending    9
#define releasing 10

/* What is known of a slice that could not be had. */
#define no_gap    0
#define open      1
#define leased    2
#define recovered 3

/* The database. */
byte data[SLICES], gaps[SLICES];
byte cursor, moved, epoch, owner, writes;
/* The kernel and the provider. */
byte lock, version = 1;
byte mishaps = MISHAPS;
/* What no process sees. */
bool told[SLICES];
bool late, blind, removed, older, back;

typedef process {
	byte doing, epoch, at, fills, holds, ahead, part, writes;
	bool leaves, both
}
process procs[RUNNERS];
#define P procs[_pid]
#define SLOT (P.fills > 0 -> P.fills - 1 : P.at)

#if SLICES == 2
#define OPEN  (gaps[0] == open || gaps[1] == open)
#define OWES  (OPEN || gaps[0] == leased || gaps[1] == leased)
#define HELD(s) (s >= cursor || data[s] > 0 || gaps[s] == open || gaps[s] == leased)
#define I1    (HELD(0) && HELD(1))
#define I14   (!(gaps[0] == recovered && data[0] == 0) && !(gaps[1] == recovered && data[1] == 0))
#define I24   (!(told[0] && data[0] == 0) && !(told[1] && data[1] == 0))
#elif SLICES == 3
#define OPEN  (gaps[0] == open || gaps[1] == open || gaps[2] == open)
#define OWES  (OPEN || gaps[0] == leased || gaps[1] == leased || gaps[2] == leased)
#define HELD(s) (s >= cursor || data[s] > 0 || gaps[s] == open || gaps[s] == leased)
#define I1    (HELD(0) && HELD(1) && HELD(2))
#define I14   (!(gaps[0] == recovered && data[0] == 0) && !(gaps[1] == recovered && data[1] == 0) && !(gaps[2] == recovered && data[2] == 0))
#define I24   (!(told[0] && data[0] == 0) && !(told[1] && data[1] == 0) && !(told[2] && data[2] == 0))
#endif
#define ALIVE(n) (procs[n].doing != dead)
#if RUNNERS == 2
#define CROWDED (ALIVE(0) && ALIVE(1))
#define ORPHAN  ((lock == 1 && !ALIVE(0)) || (lock == 2 && !ALIVE(1)))
#elif RUNNERS == 3
#define CROWDED ((ALIVE(0) && ALIVE(1)) || (ALIVE(0) && ALIVE(2)) || (ALIVE(1) && ALIVE(2)))
#define ORPHAN  ((lock == 1 && !ALIVE(0)) || (lock == 2 && !ALIVE(1)) || (lock == 3 && !ALIVE(2)))
#endif
#define I3        (!older)
#define I4        (!back)
#define I6        (!late)
#define I6_HOLDER (removed || !CROWDED)
#define I7        (!ORPHAN)
#define I23       (!blind)
#define ALL       (I1 && I3 && I4 && I6 && I6_HOLDER && I7 && I14 && I23 && I24)
#ifndef PROMISE
#define PROMISE ALL
#define END /* must be reached, too */
#endif

#if FAULT == gaps_kept
#define WORK (cursor < SLICES || OPEN)
#else
#define WORK (cursor < SLICES || OWES)
#endif
#define FENCED (FAULT != no_epoch && FAULT != neither && (epoch != P.epoch || owner != _pid + 1))

inline clear() { P.fills = 0; P.leaves = false; P.holds = 0; P.part = 0; P.both = false }

inline die() {
	clear();
	P.doing = dead; P.epoch = 0; P.at = 0; P.ahead = 0; P.writes = 0
}

inline release() {
	if
	:: lock == _pid + 1 -> lock = 0
	:: else
	fi
}

inline free_gaps() {
	if
	:: FAULT != gaps_kept ->
		for (g : 0 .. SLICES - 1) {
			if
			:: gaps[g] == leased -> gaps[g] = open
			:: else
			fi
		}
		g = 0
	:: else
	fi
}

inline sign() {
	epoch++; owner = _pid + 1; writes = 1;
	free_gaps();
	P.doing = signed_; P.epoch = epoch; P.writes = 1
}

/* believe goes on as after a commit: with the slice behind, if it is there already. */
inline believe() {
	if
	:: !P.leaves -> told[SLOT] = true
	:: else
	fi;
	if
	:: P.fills == 0 -> P.at++
	:: else
	fi;
	clear();
	if
	:: P.ahead > 0 -> P.doing = holding; P.holds = P.ahead; P.ahead = 0
	:: else -> P.doing = ready
	fi
}

inline put_records() {
	if
	:: !P.leaves ->
		if
		:: P.holds < data[SLOT] -> older = true
		:: else
		fi;
		data[SLOT] = P.holds
	:: else
	fi
}

inline put_checkpoint() {
	if
	:: P.fills == 0 ->
		if
		:: cursor != P.at && cursor != P.at + 1 -> back = true
		:: else
		fi;
		cursor = P.at + 1; moved = P.epoch
	:: else
	fi
}

inline put_gap() {
	if
	:: P.leaves -> gaps[SLOT] = open
	:: !P.leaves && (gaps[SLOT] == open || gaps[SLOT] == leased) -> gaps[SLOT] = recovered
	:: else
	fi
}

#define SPLIT ((FAULT == cursor_first && P.fills == 0 && !P.leaves) || (FAULT == gap_closed_first && P.fills > 0) || (FAULT == gap_opened_later && P.leaves))

/* effect is what a transaction does: all of the commit, unless it is split. */
inline effect() {
	if
	:: !SPLIT -> put_records(); put_checkpoint(); put_gap()
	:: SPLIT && P.part == 0 ->
		if
		:: FAULT == cursor_first -> put_checkpoint(); put_gap()
		:: FAULT == gap_closed_first -> put_gap()
		:: FAULT == gap_opened_later -> put_checkpoint()
		fi
	:: SPLIT && P.part == 1 ->
		if
		:: FAULT == gap_opened_later -> put_gap()
		:: else -> put_records()
		fi
	fi;
	late = late || P.epoch != epoch;
	P.part++; P.writes++; writes = P.writes
}

/* effect_behind is what a transaction does with the slice behind. */
inline effect_behind() {
	P.at++; h = P.holds; P.holds = P.ahead; P.part = 0;
	effect();
	P.at--; P.holds = h; h = 0; P.part = 0
}

inline select_gap() {
	if
	:: gaps[0] == open -> g = 0
	:: gaps[1] == open -> g = 1
#if SLICES == 3
	:: gaps[2] == open -> g = 2
#endif
	fi
}

#define MAY_COMMIT ((FAULT == early_epoch && P.doing == checked) || (FAULT != early_epoch && P.doing == holding && !FENCED))
#define MOVED (P.fills == 0 && P.part == 0 && cursor != P.at && FAULT != neither)

#define BEHIND ((P.doing == holding || P.doing == unknown || P.doing == unread) && P.fills == 0 && !P.leaves && P.part == 0 && P.ahead == 0 && P.at + 1 < SLICES)
#define BOTH (P.ahead > 0 && P.part == 0 && !SPLIT)
#define THERE (P.fills == 0 && (cursor == P.at + 1 || (P.both && cursor == P.at + 2)) && (moved == P.epoch || FAULT == any_checkpoint))

/* The processes are the first to be started, so that they count from 0. */
active [RUNNERS] proctype runner() {
	byte g, h;
end:	do
	:: atomic { P.doing == dead && WORK && lock == 0 -> lock = _pid + 1; P.doing = locked }
	:: atomic { FAULT == aged_lock && P.doing == dead && WORK && lock > 0 && mishaps > 0 ->
		mishaps--; lock = _pid + 1; P.doing = locked }
	:: atomic { P.doing == locked -> sign() }
	:: atomic { P.doing == locked && mishaps > 0 -> mishaps--; sign(); release(); die() }
	:: atomic { P.doing == signed_ -> P.doing = ready; P.at = cursor }
	/* It walks, is done, or is stopped. */
	:: atomic { P.doing == ready && P.at < SLICES -> P.doing = holding; P.holds = version }
	:: atomic { P.doing == ready && P.at < SLICES && mishaps > 0 -> mishaps--; P.doing = holding; P.leaves = true }
	:: atomic { P.doing == ready && P.at >= SLICES && !OPEN -> P.doing = ending }
	:: atomic { P.doing == ready && mishaps > 0 -> mishaps--; P.doing = ending }
	/* It fills a gap. */
	:: atomic { P.doing == ready && OPEN && FENCED -> P.doing = releasing }
	:: atomic { P.doing == ready && OPEN && !FENCED ->
		select_gap();
		gaps[g] = leased; P.doing = filling; P.fills = g + 1; g = 0;
		P.writes++; writes = P.writes }
	:: atomic { P.doing == filling -> P.doing = holding; P.holds = version }
	/* It commits. */
	:: atomic { FAULT == early_epoch && P.doing == holding ->
		if
		:: FENCED -> P.doing = releasing
		:: else -> P.doing = checked
		fi }
	:: atomic { FAULT != early_epoch && P.doing == holding && FENCED -> P.doing = releasing }
	:: atomic { MAY_COMMIT && MOVED -> P.doing = ending }
	:: atomic { MAY_COMMIT && !MOVED ->
		effect();
		if
		:: SPLIT && P.part == 1
		:: else -> believe()
		fi }
	:: atomic { MAY_COMMIT && !MOVED && mishaps > 0 -> mishaps--; effect(); P.doing = unknown; P.part = 0 }
	:: atomic { MAY_COMMIT && !MOVED && mishaps > 0 -> mishaps--; P.writes++; P.doing = unknown; P.part = 0 }
	/* It fetches the slice behind meanwhile, and may commit both. */
	:: atomic { BEHIND -> P.ahead = version }
	:: atomic { MAY_COMMIT && !MOVED && BOTH -> effect(); believe(); effect(); believe() }
	:: atomic { MAY_COMMIT && !MOVED && BOTH && mishaps > 0 -> mishaps--; effect(); effect_behind(); P.doing = unknown; P.both = true }
	:: atomic { MAY_COMMIT && !MOVED && BOTH && mishaps > 0 -> mishaps--; P.writes++; P.doing = unknown; P.both = true }
	:: atomic { FAULT == overtakes && MAY_COMMIT && !MOVED && BOTH -> effect_behind(); P.ahead = 0 }
	/* It finds out what became of a commit. */
	:: atomic { FAULT == believed && P.doing == unknown -> blind = true; believe() }
	:: atomic { FAULT == repeated && P.doing == unknown -> blind = true; P.doing = holding; P.both = false }
	:: atomic { FAULT == hasty && P.doing == unknown && P.ahead > 0 -> blind = true; believe() }
	:: atomic { FAULT != believed && FAULT != repeated && P.doing == unknown ->
		if
		:: writes == P.writes && (epoch == P.epoch || FAULT == any_epoch) ->
			if
			:: P.both -> believe(); believe()
			:: else -> believe()
			fi
		:: else -> P.doing = ending
		fi }
	:: atomic { FAULT != believed && FAULT != repeated && P.doing == unknown && mishaps > 0 -> mishaps--; P.doing = unread }
	:: atomic { P.doing == unread ->
		if
		:: THERE ->
			if
			:: P.both -> believe(); P.doing = unread
			:: else -> believe()
			fi
		:: else -> P.doing = holding; P.both = false
		fi }
	/* It ends. */
	:: atomic { P.doing == ending ->
		if
		:: FENCED
		:: else -> owner = 0; free_gaps()
		fi;
		P.doing = releasing }
	:: atomic { P.doing == releasing -> release(); die() }
	:: atomic { P.doing != dead && mishaps > 0 ->
		mishaps--;
		if
		:: FAULT != aged_lock && FAULT != kept_lock -> release()
		:: else
		fi;
		die() }
	od
}

active proctype rest() {
end:	do
	:: atomic { version == 1 -> version = 2 }
	:: atomic { FAULT != kept_lock && lock > 0 && mishaps > 0 -> mishaps--; lock = 0; removed = true }
	:: atomic { !(PROMISE) -> assert(PROMISE) }
#ifdef END
	:: atomic { timeout -> assert(cursor == SLICES && !OWES) }
#endif
	od
}
