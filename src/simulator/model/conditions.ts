import { minDecimal, roundToStep, ZERO } from '../../core/quantities/decimal.ts';
import { BOOKS, type Leg, transfer } from './ledger.ts';
import { changeSpec, NO_SKEW, NORMAL_BOOK, remark, skewAt } from './market.ts';
import type { ConditionWindow, MarketCondition } from './market-condition.ts';
import { cancel } from './order-book.ts';
import { closeAtMark } from './positions.ts';
import { invalid } from './rejection.ts';
import { type ExchangeState, type Market, positionBook, record, sign } from './state.ts';
import type { Outcome } from './types.ts';

type Condition<K extends MarketCondition['kind']> = Extract<MarketCondition, { kind: K }>;
type Applied = Outcome<object>;

/** Applies a condition from `fromMs` (default: now) until `untilMs` (default: for good). */
export function setCondition(
  world: ExchangeState,
  condition: MarketCondition,
  window: ConditionWindow,
): Applied {
  const { fromMs = world.nowMs, untilMs } = window;
  if (untilMs !== undefined && !HAVE_AN_END.has(condition.kind))
    return invalid('untilMs', `${condition.kind} has no end`);
  if (untilMs !== undefined && untilMs <= fromMs)
    return invalid('untilMs', 'The end is not after the beginning');
  if (fromMs <= world.nowMs) return begin(world, condition, untilMs);
  world.agenda.schedule(fromMs, () => {
    begin(world, condition, untilMs);
  });
  return { ok: true };
}

const HAVE_AN_END: ReadonlySet<string> = new Set(['depth', 'basis', 'halt']);

function begin(world: ExchangeState, condition: MarketCondition, untilMs: number | undefined): Applied {
  const market = world.markets.get(condition.market);
  const outcome =
    market === undefined
      ? invalid('market', `There is no market ${condition.market}`)
      : apply(world, market, condition);
  if (!outcome.ok) write(world, condition, `refused: ${Object.values(outcome.errors).flat().join(' ')}`);
  else if (market !== undefined) {
    if (condition.kind === 'halt') market.haltEndMs = Math.max(market.haltEndMs, untilMs ?? Infinity);
    if (untilMs !== undefined) scheduleEnd(world, market, condition, untilMs);
  }
  return outcome;
}

/** Ends the condition, unless a later one replaced it (depth, basis) or outlasts it (halt). */
function scheduleEnd(
  world: ExchangeState,
  market: Market,
  condition: MarketCondition,
  untilMs: number,
): void {
  const { thinness, skew } = market;
  world.agenda.schedule(untilMs, () => {
    if (condition.kind === 'depth' && market.thinness === thinness)
      setDepth(world, market, { kind: 'depth' });
    if (condition.kind === 'basis' && market.skew === skew)
      skewMark(world, market, { ...condition, ratio: ZERO });
    if (condition.kind === 'halt' && market.haltEndMs === untilMs)
      setStatus(world, market, 'open', condition.kind);
  });
}

function apply(world: ExchangeState, market: Market, condition: MarketCondition): Applied {
  switch (condition.kind) {
    case 'depth':
      return setDepth(world, market, condition);
    case 'basis':
      return skewMark(world, market, condition);
    case 'deleverage':
      return deleverage(world, market, condition);
    case 'terms':
      return changeTerms(world, market, condition);
    case 'halt':
      return setStatus(world, market, 'halted', 'halt');
    case 'reopen':
      return setStatus(world, market, 'open', 'reopen');
    case 'delist':
      return delist(world, market);
    case 'dropOrders':
      write(world, condition);
      dropOrders(world, market, condition.account);
      return { ok: true };
    case 'rename':
      return rename(world, market, condition);
  }
}

function write(
  world: ExchangeState,
  condition: MarketCondition,
  reason?: string,
  legs: readonly Leg[] = [],
): Applied {
  const { kind, market, ...rest } = condition;
  const fields = { accountId: null, market, reason, details: { kind, ...rest } };
  record(world, 'market_condition', fields, legs);
  return { ok: true };
}

function setDepth(
  world: ExchangeState,
  market: Market,
  condition: Omit<Condition<'depth'>, 'market'>,
): Applied {
  const { factor, spread } = condition;
  market.thinness = { factor: factor ?? NORMAL_BOOK.factor, spread: spread ?? NORMAL_BOOK.spread };
  remark(world, market);
  return write(world, { ...condition, market: market.spec.name });
}

/** Number of steps in which a ramp of the basis moves the mark price. */
const RAMP_STEPS = 100;

function skewMark(world: ExchangeState, market: Market, condition: Condition<'basis'>): Applied {
  const { ratio, overMs = 0 } = condition;
  const startMs = world.nowMs;
  const skew = { from: skewAt(market.skew, startMs), to: ratio, startMs, endMs: startMs + overMs };
  market.skew = ratio.eq(ZERO) && overMs === 0 ? NO_SKEW : skew;
  const stepMs = Math.max(10, Math.ceil(overMs / RAMP_STEPS));
  const follow = (): void => {
    if (market.skew !== skew) return;
    remark(world, market);
    if (world.nowMs < skew.endMs) world.agenda.schedule(Math.min(skew.endMs, world.nowMs + stepMs), follow);
  };
  follow();
  remark(world, market);
  return write(world, { ...condition, market: market.spec.name });
}

function deleverage(
  world: ExchangeState,
  market: Market,
  { account: accountId, positionSide, amount }: Condition<'deleverage'>,
): Applied {
  const positions = [...(world.accounts.get(accountId)?.positions.values() ?? [])].filter(
    (position) =>
      position.market === market && (positionSide === undefined || position.positionSide === positionSide),
  );
  const [position] = positions;
  if (position === undefined) return invalid('market', 'There is no such position');
  if (positions.length > 1) return invalid('positionSide', 'There are two such positions');
  if (world.readings.deleverageOrders === 'cancelled')
    dropOrders(world, market, accountId, 'auto-deleveraging');
  const closed = minDecimal(amount ?? position.size, position.size);
  closeAtMark(world, position, { kind: 'auto_deleverage', amount: closed, feeRate: ZERO });
  return { ok: true };
}

function changeTerms(world: ExchangeState, market: Market, condition: Condition<'terms'>): Applied {
  const { kind: _kind, market: _market, ...terms } = condition;
  const { spec } = market;
  // Book levels must stay on valid order prices.
  const levelStep = roundToStep(spec.depth.levelStep, terms.priceStep ?? spec.priceStep, 'up');
  changeSpec(market, { ...spec, ...terms, depth: { ...spec.depth, levelStep } });
  remark(world, market);
  for (const position of market.positions) world.dirtyUnits.add(position.unit);
  return write(world, condition);
}

function setStatus(
  world: ExchangeState,
  market: Market,
  status: 'open' | 'halted',
  kind: 'halt' | 'reopen',
): Applied {
  if (market.status === 'delisted') return invalid('market', 'The market is delisted');
  market.status = status;
  if (status === 'open') market.haltEndMs = 0;
  world.dirtyMarkets.add(market);
  return write(world, { kind, market: market.spec.name }, status);
}

function delist(world: ExchangeState, market: Market): Applied {
  if (market.spec.kind === 'spot') return invalid('market', 'A spot market says what collateral is worth');
  market.status = 'delisted';
  write(world, { kind: 'delist', market: market.spec.name });
  dropOrders(world, market);
  for (const position of market.positions)
    closeAtMark(world, position, { kind: 'settlement', amount: position.size, feeRate: ZERO });
  return { ok: true };
}

function dropOrders(world: ExchangeState, market: Market, accountId?: string, reason = 'vanished'): void {
  for (const account of world.accounts.values()) {
    if (accountId !== undefined && account.id !== accountId) continue;
    for (const order of account.openOrders.values()) {
      if (order.market === market) cancel(world, order, reason);
    }
  }
}

const NEW_NAME = /^[A-Z0-9]+_PERP$/;

/** Renames a market. Positions keep their ids; the ledger exchanges old contracts for as many new ones. */
function rename(world: ExchangeState, market: Market, condition: Condition<'rename'>): Applied {
  const { market: from, to } = condition;
  if (market.spec.kind === 'spot') return invalid('market', 'A spot market says what collateral is worth');
  if (!NEW_NAME.test(to)) return invalid('to', 'The name must be of the form COIN_PERP');
  if (world.markets.has(to)) return invalid('to', `There is a market ${to} already`);
  const legs = [...market.positions].flatMap((position) => {
    const signed = position.size.times(sign(position.direction));
    const book = positionBook(position);
    const away = transfer(book, BOOKS.counterparty, from, signed);
    return away.concat(transfer(BOOKS.counterparty, book, to, signed));
  });
  changeSpec(market, { ...market.spec, name: to });
  world.markets.delete(from);
  world.markets.set(to, market);
  for (const account of world.accounts.values()) {
    for (const ids of [account.positionIds, account.openingIds]) moveKeys(ids, from, to);
    moveKeys(account.positions, from, to);
  }
  return write(world, condition, undefined, legs);
}

function moveKeys<T>(map: Map<string, T>, from: string, to: string): void {
  for (const [key, value] of map) {
    if (!key.startsWith(`${from}|`)) continue;
    map.delete(key);
    map.set(`${to}${key.slice(from.length)}`, value);
  }
}
