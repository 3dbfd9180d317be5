import { expect, test } from 'vitest';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { isOurs } from '../support/own-orders.ts';
import { d, drift, hasFilled, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** Notices about the end of episodes, by a receiver's own count, against the exchange's ledger. */

interface Told {
  readonly kind: string;
  readonly title: string;
  readonly text: string;
  readonly severity: string;
  readonly rule: string;
}

async function open(simulator: RunningSimulator, rules: string, ids: readonly string[]) {
  const receiver = await startReceiver();
  closeAfterTest(() => receiver.close());
  const parts = (mode: 'observe' | 'enforce') => ({
    mode,
    accounts: { long: { rules: ids } },
    rules,
    more: `notify: { remindEvery: 1s }\nchannels: { hook: { type: webhook, url: ${receiver.url}/hook } }\n`,
  });
  const world = await openDaemonWorld(simulator, parts('enforce'));
  const told = (): readonly Told[] => receiver.received.map(({ json }) => json as unknown as Told);
  const find = async (what: string, isIt: (one: Told) => boolean): Promise<Told> => {
    await eventually(
      () => told().some(isIt),
      what,
      () => [told().map(({ title }) => title), troubles(world.events)],
    );
    return told().find(isIt) ?? expect.fail(what);
  };
  return { world, told, find, parts };
}

/** Closed by the daemon's orders, by the ledger: total amount and average price. */
function closedBy(simulator: RunningSimulator) {
  const fills = simulator.ledger({ accountId: 'long', kinds: ['fill'] }).filter(isOurs);
  const amount = fills.reduce((sum, one) => sum + Number(one.amount), 0);
  const money = fills.reduce((sum, one) => sum + Number(one.amount) * Number(one.price), 0);
  return { amount, price: money / amount };
}

test('a credit line that the exchange liquidated is reported as such, not as resolved', async () => {
  const simulator = await openScene({ readings: { loanReply: 'array' } });
  const loan = { asset: 'USDT', amount: d('36000'), collateralAsset: 'BTC', collateralAmount: d('1') };
  expect(simulator.model.openLoan('long', loan).ok).toBe(true);
  const openedMs = simulator.model.nowMs();
  const rules = `  - id: called
    on: creditLine
    severity: critical
    when: { ltvToMarginCall: { above: 100% } }
    do: [{ notify: {} }]
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 70% } }
    do: [{ notify: {} }]
`;
  const { world, told, find } = await open(simulator, rules, ['called', 'ltv']);
  await world.start();
  simulator.setPrice('BTC_USDT', '47000');
  await find('the margin call', ({ kind, rule }) => kind === 'firing' && rule === 'called');
  simulator.setPrice('BTC_USDT', '42000');
  const isLiquidated = () =>
    simulator.ledger({ accountId: 'long', kinds: ['loan_liquidation'] }).length === 1;
  await eventually(isLiquidated, 'the liquidation');
  // Credit lines in one asset are told apart by the second in which they were opened.
  await eventually(() => simulator.model.nowMs() - openedMs > 1_000, 'the second after');
  // A new line shows at once that the list is not empty by mistake; otherwise that takes three minutes.
  expect(simulator.model.deposit('long', { ticker: 'BTC', amount: d('1') })).toMatchObject({ ok: true });
  expect(simulator.model.openLoan('long', { ...loan, amount: d('100') })).toMatchObject({ ok: true });
  const gone = await find('that it is gone', ({ text }) => text.includes('GONE'));
  expect(simulator.ledger({ accountId: 'long', kinds: ['loan_liquidation'] })).toHaveLength(1);
  expect([gone.kind, gone.severity]).toEqual(['alarm', 'critical']);
  expect(gone.text).toMatch(
    /GONE: the credit line of 36000\S* USDT is not listed any more; it was in a margin call at 76\.6 % when last read: probably liquidated, look at the exchange\./,
  );
  await find('the end of the other rule', ({ kind, rule }) => kind === 'resolved' && rule === 'ltv');
  const ends = told().filter(({ kind }) => kind === 'resolved');
  for (const end of ends) {
    expect(end.title).toMatch(/^Gone: /);
    expect(end.text).not.toMatch(/Resolved|does not fire any more/);
  }
  expect(told().filter(({ text }) => text.includes('GONE'))).toHaveLength(1);
});

test('the notice at the end has the amount and price sold, as the ledger has them', async () => {
  const simulator = await openScene();
  const rules = `  - id: halve
    on: position
    severity: critical
    when: { amount: { above: 0.3 } }
    do: [{ notify: {} }, { reduce: { by: 50%, slippage: 1% } }]
`;
  const { world, find } = await open(simulator, rules, ['halve']);
  await world.start();
  await drift(simulator, -0.001, () => hasFilled(simulator, 'long', 0.3), 'half of it closed', world);
  const over = await find('that it is over', ({ kind }) => kind === 'resolved');
  const { amount, price } = closedBy(simulator);
  const [, sold = '', at = ''] =
    /Sold (\S+) BTC_PERP at (\S+), \S+ (?:worse|better) than/.exec(over.text) ?? [];
  expect(Number(sold)).toBeCloseTo(amount, 9);
  expect(Math.abs(Number(at) / price - 1)).toBeLessThan(1e-6);
  expect(over.text).toContain(`left ${sizeOf(simulator, 'long')}, no stop of ours stands`);
});

const STOP = `  - id: stop
    on: position
    when: { amount: { above: 0 } }
    do: [{ protect: { at: 50%, slippage: 1% } }]
`;

async function openStopped() {
  const simulator = await openScene();
  const scene = await open(simulator, STOP, ['stop']);
  await scene.world.start();
  await eventually(() => ours(simulator, 'long').length > 0, 'a stop');
  await polls(scene.world, 'long', 5);
  const activation = Number(ours(simulator, 'long')[0]?.details?.['activationPrice']);
  const goTo = async (share: number): Promise<void> => {
    simulator.setPrice('BTC_PERP', (activation * share).toFixed(1));
    await polls(scene.world, 'long', 3);
  };
  return { ...scene, simulator, activation, goTo };
}

test('people are notified when a standing stop has closed the whole position', async () => {
  const { simulator, told, find, activation, goTo } = await openStopped();
  await goTo(1.0003);
  await goTo(0.9997);
  expect(sizeOf(simulator, 'long')).toBe(0);
  const likely = await find('what it looks like', ({ text }) => text.includes('has probably closed it'));
  expect([likely.kind, likely.severity, likely.rule]).toEqual(['alarm', 'critical', 'stop']);
  expect(likely.text).toContain(`our stop at ${activation} has probably closed it`);
  expect(told().filter(({ text }) => text.includes('Our stop at'))).toEqual([]);
  // Another position shows at once that the list is not empty by mistake; otherwise that takes three minutes.
  const beside = { market: 'ETH_PERP', side: 'buy', amount: d('0.1') } as const;
  expect(simulator.model.placeCollateralOrder('long', beside)).toMatchObject({ ok: true });
  const closed = await find('the fill', ({ text }) => text.includes('Our stop at'));
  expect([closed.kind, closed.severity, closed.rule]).toEqual(['alarm', 'critical', 'stop']);
  expect(closed.text).toContain(
    `Our stop at ${activation} sold ${closedBy(simulator).amount} BTC_PERP (price not`,
  );
  expect(told().filter(({ text }) => text.includes('Our stop at'))).toHaveLength(1);
});

const FAR = `  - id: far
    on: position
    when: { liquidationDistance: { below: 90% } }
    do: [{ notify: {} }]
`;

test('a reminder has current figures, not those of the first message', async () => {
  const simulator = await openScene();
  const { world, find } = await open(simulator, FAR, ['far']);
  await world.start();
  const fired = await find('a first message', ({ kind }) => kind === 'firing');
  const [, first = ''] = /istance to liquidation is ([\d.]+ %)/.exec(fired.text) ?? [];
  simulator.setPrice('BTC_PERP', '50000');
  await polls(world, 'long', 3);
  const isNew = ({ kind, text }: Told): boolean => kind === 'reminder' && text.includes('mark 50000');
  const { title, text } = await find('a reminder', isNew);
  const [, now = ''] = /([\d.]+ %) from liquidation/.exec(title) ?? [];
  expect(now).not.toBe(first);
  expect(text).toContain(
    `The condition still holds: distance to liquidation is ${now}, below 90 %; when it began at `,
  );
  expect(text).toContain(`UTC: distance to liquidation is ${first}, below 90 %.`);
});

test('at the switch to enforce no notice says "Resolved" or "sends no order"', async () => {
  const simulator = await openScene();
  const { world, told, find, parts } = await open(simulator, FAR, ['far']);
  await world.write(parts('observe'));
  await world.start();
  await find('a first message', ({ kind }) => kind === 'firing');
  await world.write(parts('enforce'));
  const ended = await find('its end', ({ kind }) => kind === 'resolved');
  expect(ended.title).toMatch(/^Ended: long BTC_PERP long/);
  expect(ended.text).not.toMatch(/Resolved|does not fire any more|Observe mode/);
  expect(ended.text).toContain(
    'from observe to enforce and starts a new episode: this says nothing of the danger.',
  );
  await eventually(() => told().filter(({ kind }) => kind === 'firing').length === 2, 'the new episode');
});
