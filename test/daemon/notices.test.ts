import { expect, test } from 'vitest';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { d, openScene, ours, polls } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

/** Notices by a receiver's own count, against the exchange's ledger. */

async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  closeAfterTest(() => receiver.close());
  return receiver;
}

const channel = (receiver: Receiver): string => `channels:
  hook: { type: webhook, url: ${receiver.url}/hook, secret: { env: OPERATORS_KEY } }
`;

/** The fields of the webhook's JSON that the tests check. */
interface Told {
  readonly kind: string;
  readonly title: string;
  readonly text: string;
  readonly account: string;
  readonly figures: Readonly<
    Record<'markPrice' | 'liquidationPrice', string> &
      Record<'notional' | 'liquidationDistance' | 'currentLtv' | 'marginCallLtv', number>
  >;
  readonly doing: object;
}

const toldTo = ({ received }: Receiver) => received.map(({ json }) => json as unknown as Told);

async function told(receiver: Receiver, world: DaemonWorld, kind: string): Promise<Told> {
  const found = () => toldTo(receiver).filter((one) => one.kind === kind);
  await eventually(
    () => found().length > 0,
    `a notice: ${kind}`,
    () => troubles(world.events),
  );
  return found()[0] ?? expect.fail();
}

function positionOf(simulator: RunningSimulator, accountId: string) {
  return simulator.model.openPositions(accountId, 'BTC_PERP')[0] ?? expect.fail('no position');
}

test('a notice has side, size, value, mark, liquidation price and order as the ledger has them', async () => {
  const [simulator, receiver] = [await openScene(), await openReceiver()];
  const rules = `  - id: halve
    on: position
    severity: critical
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ notify: {} }, { reduce: { by: 50%, slippage: 1% } }]
`;
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['halve'] } },
    rules,
    more: `notify: { remindEvery: 1s }\n${channel(receiver)}`,
  });
  await world.start();
  const fired = await told(receiver, world, 'firing');
  const position = positionOf(simulator, 'long');
  const liquidation = Number(position.liquidationPrice?.toString());
  expect(liquidation).toBeGreaterThan(0);
  expect(fired.figures).toMatchObject({
    kind: 'position',
    market: 'BTC_PERP',
    direction: 'long',
    sizeBase: '0.5',
  });
  const { figures } = fired;
  expect(Number(figures.markPrice)).toBeCloseTo(60_000, 0);
  expect(Number(figures.liquidationPrice)).toBeCloseTo(liquidation, 0);
  expect(figures.notional).toBeCloseTo(30_000, 0);
  expect(figures.liquidationDistance).toBeCloseTo(1 - liquidation / 60_000, 3);
  expect(fired.title).toMatch(/^CRITICAL firing: long BTC_PERP long, [\d.]+ % from liquidation \(halve\)$/);
  expect(fired.text).toContain('To stop it: breakwater pause --account long --reason "looking into it"');
  expect(fired.text).toContain('To see it: breakwater status --account long');
  expect(fired.text).toContain('Next: Breakwater reduces BTC_PERP by 50 %');
  expect(fired.text.length).toBeLessThan(1_000);
  await polls(world, 'long', 2);
  receiver.received.length = 0;
  const reminded = await told(receiver, world, 'reminder');
  const [order] = ours(simulator, 'long');
  const activationPrice = String(order?.details?.['activationPrice']);
  expect(reminded.doing).toMatchObject({ state: 'waiting', cause: 'orderWaits' });
  expect(reminded.text).toContain(
    `In place: sell 0.25 BTC_PERP once the price is ${activationPrice} or less`,
  );
});

test('a notice of a credit line has its LTV, the limits and the cure, and says that a person must act', async () => {
  const [simulator, receiver] = [await openScene(), await openReceiver()];
  const loan = { asset: 'USDT', amount: d('30000'), collateralAsset: 'BTC', collateralAmount: d('1') };
  expect(simulator.model.openLoan('long', loan).ok).toBe(true);
  const rules = `  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 10% } }
    do: [{ notify: { cure: [5%] } }]
`;
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['ltv'] } },
    rules,
    more: channel(receiver),
    web: '{ port: 0, publicUrl: "https://bw.example" }',
  });
  await world.start();
  const fired = await told(receiver, world, 'firing');
  const { figures } = fired;
  expect(fired.figures).toMatchObject({ kind: 'creditLine', asset: 'USDT' });
  expect(figures.currentLtv).toBeCloseTo(0.5, 2);
  expect(figures.marginCallLtv).toBeGreaterThan(0.5);
  expect(fired.title).toMatch(/credit line in USDT, LTV \S+ % \(margin call at \S+ %\) \(ltv\)$/);
  expect(fired.text).toMatch(/To bring it to 5 %: repay \S+ USDT/);
  expect(fired.text).toContain('Next: a person has to repay or add collateral.');
  expect(fired.text).not.toContain('To see it:');
  expect(fired.text).toContain('https://bw.example/accounts/long/credit-lines/');
});
