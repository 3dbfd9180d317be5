/**
 * Ordinals of processes that may use the keys of running daemons, which have 0 to 8 (`--instance`): nonces of each end on
 * other digits, so that they never collide, even without a shared store. In `window` mode nonces are plain milliseconds,
 * and only the shared store keeps them apart. So they are taken there, not asked of a daemon: `call` has to work while that
 * hangs.
 */

/** One of 10, as those of daemons. */
export const DOCTOR_ORDINAL = 9;
export const LIVE_POSITIONS = { ordinal: 48, ordinals: 50 };
export const SINGLE_CALLS = { ordinal: 49, ordinals: 50 };
