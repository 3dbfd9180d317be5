import type { Notice } from '../../src/core/ports/notifier.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { LedgerDetail, LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import type { World } from '../../src/world/open-world.ts';
import { isOurs } from '../support/own-orders.ts';
import type { AuditTrail } from './audit-trail.ts';

interface Told {
  readonly atMs: number;
  readonly notice: Notice;
}

/** An accepted order of the daemon, in the words of notices. */
interface Accepted {
  readonly atMs: number;
  readonly accountId: string;
  readonly market: string;
  /** By the ledger, and as requested under its id: the exchange may have trimmed it. */
  readonly words: readonly string[];
  /** The intent or cover that it serves. */
  readonly key: string | undefined;
}

/** The ledger rounds to whole milliseconds. */
const ROUNDING_MS = 1;
/** Matches every `sell 0.25 BTC_PERP once the price is 59940 or less, limit 59600`. */
const ORDER_WORDS = /\b(?:buy|sell) \S+ \S+ once the price is \S+ or (?:less|more), limit [\d.]+/g;
const REDUCING = /^acting: reducing (\S+) .*?(?: \(at most (\S+) left\))?(?:;|$)/;
const IN_PLACE = 'In place: ';

/**
 * Invariant 14: a notice says that an account acts, or that its order waits, only after the exchange accepted that
 * order.
 */
export class ToldCheck {
  readonly #told: Told[] = [];

  /** Receives every event of the daemons as it happens; `elapsedMs` is the world's time. */
  hear(event: DaemonEvent, elapsedMs: number): void {
    if (event.kind === 'notice') this.#told.push({ atMs: elapsedMs, notice: event.notice });
  }

  violations({ exchange, startMs }: World, trail: AuditTrail): readonly string[] {
    const accepted = acceptedOrders(exchange.model.ledger({ kinds: ['order_placed'] }), trail, startMs);
    return this.#told.flatMap(({ atMs, notice }) => {
      const { accountId } = notice;
      const earlier = accepted.filter(
        (order) => order.accountId === accountId && order.atMs <= atMs + ROUNDING_MS,
      );
      return untrueWords(notice, earlier, trail).map(
        (words) => `14: ${atMs} ms, ${accountId}: was told "${words}", and no such order was accepted`,
      );
    });
  }
}

function untrueWords(
  { doing, accountId }: Notice,
  accepted: readonly Accepted[],
  trail: AuditTrail,
): readonly string[] {
  if (doing === undefined) return [];
  const said = [
    ...(doing.state === 'waiting' ? (doing.words.match(ORDER_WORDS) ?? [doing.words]) : []),
    ...doing.orders.flatMap((words) => (words.startsWith(IN_PLACE) ? [words.slice(IN_PLACE.length)] : [])),
  ];
  const untrue = said.filter(
    (order) => !accepted.some(({ words }) => words.includes(order) || words.includes(ofAnyAmount(order))),
  );
  if (doing.state !== 'acting') return untrue;
  const [, market, targetBase] = REDUCING.exec(doing.words) ?? [];
  const isAccepted = accepted.some(
    (order) =>
      order.market === market &&
      (targetBase === undefined ||
        order.key === undefined ||
        hadTarget(trail, accountId, order.key, targetBase)),
  );
  return isAccepted ? untrue : [...untrue, doing.words];
}

function ofAnyAmount(orderWords: string): string {
  return orderWords.replace(/ \S+ /, ' ? ');
}

/** Whether the intent ever had this target. */
function hadTarget({ events }: AuditTrail, accountId: string, key: string, targetBase: string): boolean {
  return events.some(
    (event) => event.accountId === accountId && event.key === key && event.targetBase === targetBase,
  );
}

function acceptedOrders(
  placed: readonly LedgerEntry[],
  { events }: AuditTrail,
  startMs: number,
): readonly Accepted[] {
  const asked = Map.groupBy(
    events.filter(({ order }) => order !== undefined),
    ({ order }) => order?.clientOrderId,
  );
  return placed.flatMap((entry): Accepted[] => {
    const { accountId, market = '', clientOrderId = '', side = 'sell', amount = '', details = {} } = entry;
    if (accountId === null || !isOurs(entry)) return [];
    const requests = asked.get(clientOrderId) ?? [];
    const wordsOf = (one: string, activation: LedgerDetail | undefined, limit = ''): readonly string[] =>
      ['less', 'more'].map(
        (when) =>
          `${side} ${one} ${market} once the price is ${String(activation)} or ${when}, limit ${limit}`,
      );
    const words = [
      ...wordsOf(amount, details['activationPrice'], entry.price),
      ...requests.flatMap(({ order }) =>
        order === undefined ? [] : wordsOf(order.amount, order.activationPrice, order.price),
      ),
    ];
    // If another process sent the order under the same id, only the id is known: any amount counts as told.
    const isTwice = requests.some(({ kind, reason }) => kind === 'rejected' && reason === 'duplicateId');
    const key = requests.find((event) => event.key !== undefined)?.key;
    return [
      {
        atMs: entry.atMs - startMs,
        accountId,
        market,
        words: isTwice ? [...words, ...words.map(ofAnyAmount)] : words,
        key,
      },
    ];
  });
}
