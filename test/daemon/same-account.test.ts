import { expect, test } from 'vitest';
import type { AccountView } from '../../src/core/view/account-view.ts';
import { json, openOperatorWorld } from '../cli/operator.ts';
import { valueOf } from '../telemetry/parts.ts';
import { drift, hasFilled, ours, polls, sizeOf } from './scene.ts';
import { eventually, troubles } from './world.ts';

/** Invariant 14: all places soon agree about an account, and match the exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const SOON = 100;

interface Said {
  readonly size: number | undefined;
  readonly openIntents: number;
}

test('page, status and metrics agree about an account, and match the ledger, before, during and after an action', async () => {
  const world = await openOperatorWorld({ accounts: { long: { rules: ['rule'] } }, rules: HALVE });
  const { simulator } = world;
  // The exchange refuses orders: a rule fires, and no notice says that it acts.
  const refused = simulator.injectFault({
    effect: { kind: 'refusal', of: 'orders' },
    target: { endpoint: 'stopLimit' },
  });
  const daemon = await world.start({ webPort: 0 });
  const why = (): readonly unknown[] => troubles(world.events);

  const onPage = async (): Promise<AccountView> =>
    (await (await fetch(`${daemon.webUrl()}/api/v1/accounts/long`)).json()) as AccountView;
  const byStatus = async (): Promise<AccountView> => {
    const report = json(await world.cli(['status', '--account', 'long', '--json']));
    return (report['accounts'] as AccountView[])[0] as AccountView;
  };
  const said = (view: AccountView): Said => ({
    size: view.positions[0] === undefined ? undefined : Number(view.positions[0].sizeBase),
    openIntents: view.intents.filter(({ ended }) => !ended).length,
  });
  const inMetrics = async () => {
    const text = await (await fetch(`${daemon.webUrl()}/metrics`)).text();
    return {
      positions: valueOf(text, 'breakwater_account_positions{account="long"}'),
      openIntents: valueOf(text, 'breakwater_intents_open{account="long",mode="enforce"}'),
    };
  };
  const expectAll = async (size: number, openIntents: number): Promise<void> => {
    expect(sizeOf(simulator, 'long')).toBeCloseTo(size, 9);
    let last: unknown;
    await eventually(
      async () => {
        const [page, status, metrics] = [said(await onPage()), said(await byStatus()), await inMetrics()];
        last = { page, status, metrics };
        return (
          [page, status].every((one) => one.size === size && one.openIntents === openIntents) &&
          metrics.positions === 1 &&
          metrics.openIntents === openIntents
        );
      },
      `size ${size} and ${openIntents} open intents everywhere`,
      () => [last, why()],
      SOON,
    );
  };

  await polls(world, 'long', 3);
  await expectAll(0.5, 1);
  expect(ours(simulator, 'long')).toEqual([]);
  for (const view of [await onPage(), await byStatus()])
    expect(view.orders.filter(({ status }) => status === 'open')).toEqual([]);

  simulator.clearFaults(refused);
  await eventually(() => ours(simulator, 'long').length > 0, 'an order', why);
  await expectAll(0.5, 1);
  const open = simulator.model.openOrders('long').map(({ clientOrderId }) => clientOrderId);
  const shown = (view: AccountView): unknown[] => view.orders.map(({ clientOrderId }) => clientOrderId);
  await eventually(
    async () => JSON.stringify(shown(await onPage())) === JSON.stringify(open),
    'the order that is open',
    why,
    SOON,
  );
  expect(shown(await byStatus())).toEqual(open);

  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 3);
  await expectAll(0.25, 0);
});
