import { expect } from 'vitest';
import { decimal } from '../../src/core/quantities/decimal.ts';
import type { RunningSimulator, SimulatorOptions } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest, openExchange } from '../contract/support/world.ts';
import { eventually } from '../pipeline/world.ts';
import { isOurs } from '../support/own-orders.ts';
import { type DaemonWorld, troubles } from './world.ts';

export const d = decimal;

/** An exchange whose ledger is checked at the end: no order of the daemon opened or grew a position. */
export async function openScene(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const simulator = await openExchange({ speed: 1, ...options });
  closeAfterTest(async () => {
    for (const order of simulator.ledger({ kinds: ['order_placed'] }).filter(isOurs)) {
      expect(order.details).toMatchObject({ reduceOnly: true });
    }
  });
  return simulator;
}

export function sizeOf(simulator: RunningSimulator, accountId: string, market = 'BTC_PERP'): number {
  return simulator.model.openPositions(accountId, market)[0]?.amount.toNumber() ?? 0;
}

/** Whether a position is smaller, and no open order rests with a partial fill: a stop may fill in parts. */
export function hasFilled(simulator: RunningSimulator, accountId: string, below: number): boolean {
  const isWhole = simulator.model.openOrders(accountId).every(({ amount, left }) => left.eq(amount));
  return isWhole && sizeOf(simulator, accountId) < below;
}

export function ours(simulator: RunningSimulator, accountId: string) {
  return simulator.ledger({ accountId, kinds: ['order_placed'] }).filter(isOurs);
}

export function priceOf(simulator: RunningSimulator, market = 'BTC_PERP'): number {
  return simulator.model.market(market)?.last.toNumber() ?? Number.NaN;
}

/** Moves the price by a fraction, as a gap. */
export function move(simulator: RunningSimulator, by: number, market = 'BTC_PERP'): void {
  simulator.setPrice(market, (priceOf(simulator, market) * (1 + by)).toFixed(1));
}

/** Moves the price in small steps until the condition holds: stops are activated and filled one after another. */
export async function drift(
  simulator: RunningSimulator,
  by: number,
  holds: () => boolean,
  what: string,
  world?: DaemonWorld,
): Promise<void> {
  await eventually(
    () => {
      if (holds()) return true;
      move(simulator, by);
      return false;
    },
    what,
    () => (world === undefined ? '' : [priceOf(simulator), troubles(world.events)]),
    150,
  );
}

/** Waits for some polls of an account from now on. */
export async function polls(world: DaemonWorld, accountId: string, count = 3): Promise<void> {
  const from = world.events.length;
  const seen = () =>
    world.events.slice(from).filter((event) => event.kind === 'evaluated' && event.accountId === accountId)
      .length;
  await eventually(
    () => seen() >= count,
    `${count} polls of ${accountId}`,
    () => troubles(world.events),
  );
}
