import { recorder } from '../../../../src/core/audit/audit-event.ts';
import { operatorIntent, withdrawOperatorIntent } from '../../../../src/core/intents/intent.ts';
import type { MarketSettings } from '../../../../src/core/quantities/settings.ts';
import { MARKET } from './views.ts';
import type { World } from './world.ts';

/** Acts of people: the owner at the exchange, the operator with orders and in the config. */
export class People {
  readonly #world: World;
  #operatorIds = 0;

  constructor(world: World) {
    this.#world = world;
  }

  reload(market: MarketSettings | undefined): void {
    this.#world.setup.config.market = market;
    this.#world.seen('reload');
  }

  /** Adds an operator order, or withdraws the last one. */
  operate(kind: 'flatten' | 'urgent' | 'reduce' | 'withdraw', fraction: number): void {
    const world = this.#world;
    const { actor, nowMs } = world;
    const [position] = world.exchange.positions;
    const audit = recorder('desk', MARKET, nowMs);
    if (kind === 'withdraw') {
      const state = withdrawOperatorIntent(actor.state, `${this.#operatorIds}`, { nowMs, audit });
      world.apply({ state, events: audit.events });
      return;
    }
    if (position === undefined) return;
    this.#operatorIds += 1;
    if (kind !== 'reduce') world.ledger.flattened = true;
    const request = {
      id: `${this.#operatorIds}`,
      positionId: position.id,
      target: { kind: 'to', fraction: kind === 'reduce' ? fraction : 0 },
      slippageSteps: [0.01],
      flatten: kind !== 'reduce',
      ...(kind === 'urgent' ? { urgent: true as const } : {}),
      because: 'by hand',
    } as const;
    const { settings } = world.setup;
    const state = operatorIntent(actor.state, request, { settings, nowMs, audit });
    world.apply({ state, events: audit.events });
    world.seen('operator');
  }

  add(positionId: string, lots: number): void {
    const { exchange, ledger, nowMs } = this.#world;
    exchange.ownerAdds(positionId, lots);
    ledger.ownerAddedMs = nowMs;
  }

  /** The owner closes the only position and opens another one under its id. */
  rebuild(lots: number, flipped: boolean): void {
    const { exchange, seen } = this.#world;
    const [position] = exchange.positions;
    if (position === undefined || exchange.positions.length > 1) return;
    const { id, side, sign } = position;
    exchange.ownerReduces(id, position.lots);
    const isOneWay = side === 'BOTH';
    exchange.open(id, side, flipped && isOneWay ? (sign === 1 ? -1 : 1) : sign, lots, 10);
    seen('rebuilt');
  }
}
