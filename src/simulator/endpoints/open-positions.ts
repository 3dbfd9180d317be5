import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { OPENING_FIGURES } from '../http/false-data.ts';
import { type Reply, success } from '../http/reply.ts';
import type { OpeningSheet } from '../model/opening.ts';
import type { Readings } from '../model/readings.ts';
import type { PositionSheet } from '../model/views.ts';
import { type EndpointParts, invalidParams, optionalMarket, unixSeconds } from './parts.ts';

/** Specification 4.3. */
export function openPositionsEndpoint(parts: EndpointParts): ServedEndpoint {
  const cache = new ReplyCache();
  return {
    name: 'openPositions',
    path: '/api/v4/collateral-account/positions/open',
    handle: ({ accountId, reader, staleMs }): Reply => {
      const market = optionalMarket(reader, parts.model);
      if (reader.hasProblems) return invalidParams(parts.model, reader.problems);
      const make = () => listing(parts, { accountId, staleMs, market });
      return staleMs > 0 ? make() : cache.reply(`${accountId} ${market ?? ''}`, parts, make);
    },
  };
}

/** Cached accruals (funding) are at most this old; all other changes show at once. */
const ACCRUAL_SHOWN_EVERY_MS = 100;

/** Caches replies, because most polls come when nothing has changed since the last one. */
class ReplyCache {
  #revision = Number.NaN;
  #period = Number.NaN;
  #readings: Readings | undefined;
  readonly #replies = new Map<string, Reply>();

  reply(key: string, { model, revision }: EndpointParts, make: () => Reply): Reply {
    const period = Math.floor(model.nowMs() / ACCRUAL_SHOWN_EVERY_MS);
    const current = revision.current();
    if (current !== this.#revision || period !== this.#period || model.readings() !== this.#readings) {
      this.#replies.clear();
      this.#revision = current;
      this.#period = period;
      this.#readings = model.readings();
    }
    const reply = this.#replies.get(key) ?? make();
    this.#replies.set(key, reply);
    return reply;
  }
}

function listing(
  parts: EndpointParts,
  what: { readonly accountId: string; readonly staleMs: number; readonly market: string | undefined },
): Reply {
  const readings = parts.model.readings();
  const reads = parts.reads(what.accountId, what.staleMs);
  const records = [
    ...reads.openPositions(what.market).map((view) => positionRecord(view, readings)),
    ...reads.openingPositions(what.market).map((view) => openingRecord(view, readings)),
  ];
  if (readings.positionLeverage === 'absent') return success(records);
  const { leverage } = parts.model.account(what.accountId);
  return success(records.map((record) => Object.assign(record, { leverage })));
}

/** Specification 2.4. */
function positionRecord(view: PositionSheet, readings: Readings): object {
  return {
    positionId: view.positionId,
    market: view.market,
    openDate: unixSeconds(view.openMs),
    modifyDate: unixSeconds(view.modifyMs),
    amount: positionAmount(view, readings),
    basePrice: formatDecimal(view.basePrice),
    liquidationPrice: view.liquidationPrice === null ? null : formatDecimal(view.liquidationPrice),
    liquidationState: view.liquidationState ?? safeState(readings),
    pnl: formatDecimal(view.pnl),
    pnlPercent: formatDecimal(view.pnlPercent),
    margin: formatDecimal(view.margin),
    freeMargin: formatDecimal(view.freeMargin),
    funding: formatDecimal(view.funding),
    unrealizedFunding: formatDecimal(view.unrealizedFunding),
    unrealizedPnl: formatDecimal(view.unrealizedPnl),
    tpsl: tpslRecord(view.tpsl),
    positionSide: view.positionSide,
  };
}

/** Live notes: values that are not known yet are null. */
function openingRecord(opening: OpeningSheet, readings: Readings): object {
  return {
    positionId: opening.positionId,
    market: opening.market,
    openDate: unixSeconds(opening.openMs),
    modifyDate: unixSeconds(opening.openMs),
    ...OPENING_FIGURES,
    freeMargin: formatDecimal(opening.freeMargin),
    liquidationState: safeState(readings),
    positionSide: opening.positionSide,
  };
}

function safeState({ noLiquidationState }: Readings): '' | null {
  return noLiquidationState === 'empty' ? '' : null;
}

/** The specification does not say whether the amount of a short in one-way mode is negative. */
function positionAmount(view: PositionSheet, readings: Readings): string {
  const negative =
    view.direction === 'short' && view.positionSide === 'BOTH' && readings.shortAmount === 'signed';
  return formatDecimal(negative ? view.amount.neg() : view.amount);
}

function tpslRecord(tpsl: PositionSheet['tpsl']): object | null {
  if (tpsl === null) return null;
  const { takeProfitId, takeProfit, stopLossId, stopLoss } = tpsl;
  return {
    ...(takeProfit === null ? {} : { takeProfitId, takeProfit: formatDecimal(takeProfit) }),
    ...(stopLoss === null ? {} : { stopLossId, stopLoss: formatDecimal(stopLoss) }),
  };
}
