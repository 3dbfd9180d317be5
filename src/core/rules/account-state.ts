import type { Unseen } from '../quantities/closure.ts';
import type { Told } from '../quantities/position.ts';
import type { ForecastState } from '../risk/forecast.ts';
import type { ElapsedState } from './elapsed.ts';
import type { Mode } from './rule.ts';
import type { RuleEntry } from './rule-state.ts';
import type { SubjectKey } from './subject.ts';

/** Incremented when the shape of the state changes so that old state can no longer be read. */
export const STATE_VERSION = 1;

/** Everything that evaluation remembers of an account. Plain JSON: replaying its inputs gives identical bytes. */
export interface AccountState {
  readonly version: typeof STATE_VERSION;
  readonly accountId: string;
  readonly passage?: ElapsedState;
  /** Number of the next episode; never falls, so that numbers are unique. */
  readonly nextEpisode: number;
  readonly rules: readonly RuleSlot[];
  readonly markets: readonly MarketMemory[];
  readonly creditLines: readonly CreditLineMemory[];
  readonly positions: readonly PositionMemory[];
  /** When the newest evaluated read of the positions was sent, by the shared clock. */
  readonly positionsReadMs?: number;
  /** Ages, at the last evaluation, of the reads that feed forecasts. */
  readonly ages: { readonly positions?: number; readonly creditLine?: number };
  /** Absent: no main balance seen yet. `ageMs`: of the read, while an asset is missing. */
  readonly balances?: { readonly assets: readonly BalanceMemory[]; readonly ageMs?: number };
  /** The free margin of the positions. Absent: none was seen so far, or reads have confirmed that it is used up. */
  readonly freeMargin?: Pick<BalanceMemory, 'unseen'>;
}

/** Entries of one rule. */
export interface RuleSlot {
  readonly ruleId: string;
  /** Of the config by which its oldest entry began. */
  readonly checksum: string;
  /** See `identityOf`. Absent: it has no entries, or an earlier version wrote it. */
  readonly identity?: string;
  readonly mode: Mode;
  readonly entries: readonly RuleEntry[];
}

export interface MarketMemory {
  readonly market: string;
  readonly forecast: ForecastState;
  /** How long it has had no usable mark price; 0 while it has one. */
  readonly absentMs: number;
}

export interface CreditLineMemory {
  readonly subject: SubjectKey;
  /** Absent: no read has shown its LTV yet. */
  readonly forecast?: ForecastState;
  /** Its last read showed no LTV: the next one only becomes the origin of the one after. */
  readonly gap: boolean;
  /** Absence from complete lists; absent while it is listed. */
  readonly unseen?: Unseen;
}

export interface BalanceMemory {
  readonly asset: string;
  /** Absence since it was last above zero; absent while it is. */
  readonly unseen?: Unseen;
}

/** Memory of a position beyond its record; stored. */
export interface PositionMemory {
  readonly positionId: string;
  /** Market and side where last seen; absent in states of an earlier version. */
  readonly market?: string;
  readonly side?: string;
  /** Absent: unknown. */
  readonly direction?: Told;
  /** The exchange called for margin or liquidated when it was last shown. Absent: it did not. */
  readonly called?: boolean;
  /** Absence from complete lists; absent while it is listed. */
  readonly unseen?: Unseen;
  /** Time without cover since it was last covered or first seen. */
  readonly unprotectedMs: number;
  /** Cover at the last evaluation; an interval counts as unprotected if the cover was known and open at both ends. */
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
