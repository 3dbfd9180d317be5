import type { Unseen } from '../quantities/closure.ts';
import type { ForecastState } from '../risk/forecast.ts';
import type { ElapsedState } from './elapsed.ts';
import type { Mode } from './rule.ts';
import type { RuleEntry } from './rule-state.ts';
import type { Direction, SubjectKey } from './subject.ts';

/** Raised when the shape of the state changes in a way that old state cannot be read. */
export const STATE_VERSION = 1;

/** All that evaluating remembers of an account, plain JSON: replayed from its inputs it gives identical bytes. */
export interface AccountState {
  readonly version: typeof STATE_VERSION;
  readonly accountId: string;
  readonly passage?: ElapsedState;
  /** Number of the next episode; it never falls, so that no episode's number is used twice. */
  readonly nextEpisode: number;
  readonly rules: readonly RuleSlot[];
  readonly markets: readonly MarketMemory[];
  readonly creditLines: readonly CreditLineMemory[];
  readonly positions: readonly PositionMemory[];
  /** When the newest read of the positions that was judged was sent, by the clock that processes share. */
  readonly positionsReadMs?: number;
  /** Ages at the last evaluation of the reads that forecasts are fed from. */
  readonly ages: { readonly positions?: number; readonly creditLine?: number };
  /** Absent: no main balance has been seen. `ageMs`: of the read, while an asset is missed. */
  readonly balances?: { readonly assets: readonly BalanceMemory[]; readonly ageMs?: number };
}

/** One rule's entries, under the checksum and mode for which they are valid. */
export interface RuleSlot {
  readonly ruleId: string;
  readonly checksum: string;
  readonly mode: Mode;
  readonly entries: readonly RuleEntry[];
}

export interface MarketMemory {
  readonly market: string;
  readonly forecast: ForecastState;
  /** Time for which no usable mark price of it was seen; 0 while there is one. */
  readonly absentMs: number;
}

export interface CreditLineMemory {
  readonly subject: SubjectKey;
  /** Absent: no read has given its LTV. */
  readonly forecast?: ForecastState;
  /** Its last read gave no LTV: the next one only becomes the origin of the one after. */
  readonly gap: boolean;
  /** Since it was last seen in a complete list; absent while it is. */
  readonly unseen?: Unseen;
}

export interface BalanceMemory {
  readonly asset: string;
  /** Since it was last seen above zero; absent while it is. */
  readonly unseen?: Unseen;
}

/** What evaluations remember of a position that no record says; stored. */
export interface PositionMemory {
  readonly positionId: string;
  /** Where it was last seen; absent in states of an earlier version. */
  readonly market?: string;
  readonly side?: string;
  /** Absent: not known. */
  readonly direction?: Direction;
  /** Since it was last seen in a complete list; absent while it is. */
  readonly unseen?: Unseen;
  /** Time without cover, since it was last covered or first seen. */
  readonly unprotectedMs: number;
  /** Cover when last looked at: an interval counts when it was known and open at both ends. */
  readonly cover: 'covered' | 'open' | 'unknown';
}

export function emptyAccountState(accountId: string): AccountState {
  return {
    version: STATE_VERSION,
    accountId,
    nextEpisode: 1,
    rules: [],
    markets: [],
    creditLines: [],
    positions: [],
    ages: {},
  };
}

/** A stored state that cannot be used; `code` tells which way it is unusable. */
