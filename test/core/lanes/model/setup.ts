import type { DecimalString } from '../../../../src/core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../../../../src/core/quantities/settings.ts';
import type { Readings } from './terms.ts';
import { MARKET } from './views.ts';

export interface Setup {
  readonly readings: Readings;
  readonly settings: AccountSettings;
  readonly ownerActs: boolean;
  readonly lots: number;
  readonly leverage: number;
  readonly sign: 1 | -1;
  readonly otherLots: number;
  readonly vouched: boolean;
  /** The market's current entry in the config; a reload replaces it. */
  readonly config: { market: MarketSettings | undefined };
}

/** The choices of a history, each a small number. */
export type Choices = readonly number[];

const market: MarketSettings = {
  amountStep: '0.001' as DecimalString,
  priceStep: '0.1' as DecimalString,
  minAmount: '0.001' as DecimalString,
  maintenanceMargin: 0.03,
  basisAllowance: 0.001,
};

const coarseMarket: MarketSettings = { ...market, minAmount: '0.005' as DecimalString };
/** A price step of half a percent and more: coarser than the slippage. */
const coarsePrices: MarketSettings = { ...market, priceStep: '5' as DecimalString };
export const MARKETS: readonly MarketSettings[] = [market, coarseMarket, market, coarsePrices];

/** The longest fence in any history. */
export const LATE_ARRIVAL_MS = 2_000;

export function setupOf(choices: Choices): Setup {
  const at = (index: number): number => choices[index] ?? 0;
  const oneIn = (index: number, n: number): boolean => at(index) % n === 1;
  const readings: Readings = {
    idScope: oneIn(0, 2) ? 'open' : 'ever',
    cancelCoversStops: at(1) % 5 < 3,
    trigger: oneIn(2, 2) ? 'mark' : 'last',
    triggersAtEquality: oneIn(3, 2),
    nonce: oneIn(4, 4) ? 'increasing' : 'unique',
    readLagMs: oneIn(5, 3) ? 500 : 0,
    hedgeMode: oneIn(6, 3),
    showsOpenDate: at(21) % 4 !== 1,
    liquidates: oneIn(22, 2) ? 'parts' : 'whole',
  };
  const config: Setup['config'] = { market: MARKETS[at(12) % MARKETS.length] };
  const settings: AccountSettings = {
    accountId: 'desk',
    mode: oneIn(7, 16) ? 'observe' : 'enforce',
    labels: {},
    bothSign: 'signed',
    ltvUnit: 'auto',
    marginModel: at(17) % 8 > 3 ? 'isolated' : 'auto',
    nonceMode: readings.nonce,
    cancelCoversStops: readings.cancelCoversStops,
    cancel: oneIn(8, 8) ? 'never' : 'always',
    ownOrders: 'none',
    hedge: oneIn(9, 6) ? 'perLeg' : 'net',
    overshoot: oneIn(10, 2) ? 'audited' : 'never',
    lateArrivalMs: oneIn(23, 8) ? 0 : LATE_ARRIVAL_MS,
    readLagMs: readings.readLagMs,
    fillWithinMs: oneIn(24, 8) ? 100 : 1_500,
    intentTtlMs: 12_000,
    maxSnapshotAgeMs: 3_000,
    maxOrderReadAgeMs: oneIn(25, 3) ? 500 : 2_000,
    maxRenewals: 1,
    maxAttempts: at(26) % 3 === 2 ? 2 : 4,
    mostSets: 12,
    distanceTolerance: 0.1,
    largestReduction: oneIn(11, 8) ? 0.6 : 1,
    cadence: { calmMs: 1_000, alertMs: 1_000 },
    marketSettings: (name) => (name === MARKET ? config.market : undefined),
  };
  return {
    readings,
    settings,
    config,
    ownerActs: oneIn(13, 2),
    lots: [10, 7, 100, 24, 16, 33][at(14) % 6] ?? 10,
    leverage: [10, 5, 12, 3][at(15) % 4] ?? 10,
    sign: oneIn(16, 2) ? -1 : 1,
    vouched: oneIn(18, 2),
    otherLots: [4, 10, 0, 7][at(17) % 4] ?? 4,
  };
}
