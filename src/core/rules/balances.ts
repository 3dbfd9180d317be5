import { type AccountQuantities, FREE_MARGIN } from '../quantities/account.ts';
import { isConfirmedClosed, stillUnseen } from '../quantities/closure.ts';
import { toNumber } from '../quantities/decimal.ts';
import type { AccountState, BalanceMemory } from './account-state.ts';

type Balances = NonNullable<AccountState['balances']>;

/**
 * A known asset counts as gone only after a while, because exchanges have shown 0 for minutes. `sinceReadMs`: time from
 * the read that had this age at the last evaluation to the present one.
 */
export function rememberBalances(
  before: Balances | undefined,
  account: AccountQuantities,
  timerMs: number,
  sinceReadMs: (ageMs: number | undefined) => number | undefined,
): Balances | undefined {
  const reading = account.fresh(account.snapshot.sources.mainBalance);
  if (reading.kind !== 'value') return before;
  const known = before?.assets ?? [];
  const held = Object.entries(reading.value)
    .filter(([, amount]) => amount === null || toNumber(amount) !== 0)
    .map(([asset]) => asset);
  const gone = known.filter(({ asset }) => !held.includes(asset));
  const isSame = gone.length === 0 && known.length === held.length && known.every(({ unseen }) => !unseen);
  if (isSame) return before;
  const isNewRead = sinceReadMs(before?.ageMs) !== 0;
  const missed = gone.flatMap((one) => stepMissed(one, isNewRead, timerMs));
  const ageMs = account.ageMs('mainBalance');
  return {
    assets: [...held.map((asset) => ({ asset })), ...missed],
    ...(missed.length > 0 && ageMs !== undefined && { ageMs }),
  };
}

function stepMissed({ asset, unseen }: BalanceMemory, isNewRead: boolean, timerMs: number): BalanceMemory[] {
  const next = stillUnseen(unseen, isNewRead, timerMs);
  return isNewRead && isConfirmedClosed(next) ? [] : [{ asset, unseen: next }];
}

/** The same for the free margin of positions that show no liquidation price: else those tell what is left. */
export function rememberFreeMargin(
  before: AccountState['freeMargin'],
  { positions, positionList }: AccountQuantities,
  timerMs: number,
  isNewRead: boolean,
): AccountState['freeMargin'] {
  const isTold = positions.some(({ liquidationPrice }) => liquidationPrice.kind !== 'none');
  if (positionList.kind !== 'value' || positions.length === 0 || isTold) return before;
  const isThere = positions.some(({ record }) => Number(record.freeMargin) > 0);
  if (isThere) return before !== undefined && before.unseen === undefined ? before : {};
  if (before === undefined) return undefined;
  const next = stillUnseen(before.unseen, isNewRead, timerMs);
  return isNewRead && isConfirmedClosed(next) ? undefined : { unseen: next };
}

/** Assets shown as 0 whose absence is not confirmed yet, and `FREE_MARGIN`. */
export function unconfirmedZeros({
  balances,
  freeMargin,
}: Pick<AccountState, 'balances' | 'freeMargin'>): ReadonlySet<string> {
  const assets = balances?.assets ?? [];
  const unseen = assets.flatMap((one) => (one.unseen === undefined ? [] : [one.asset]));
  return new Set(freeMargin?.unseen === undefined ? unseen : [...unseen, FREE_MARGIN]);
}
