import { expect, test } from 'vitest';
import { openExchange } from '../contract/support/world.ts';
import { eventually, openWorld } from './world.ts';

const RULES = `  - id: rule
    on: position
    when: { amount: { above: 1000 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

test('a failing account does not keep others from being polled, and is reported', async () => {
  const simulator = await openExchange({ speed: 1 });
  const accounts = Object.fromEntries(['long', 'short', 'flat'].map((id) => [id, { rules: ['rule'] }]));
  const world = openWorld(simulator, { accounts, rules: RULES });
  // A defect as seen from outside: nothing of this account can be read.
  const broken = world.accounts.get('short');
  if (broken === undefined) throw new Error('no account');
  Object.defineProperty(broken, 'exchange', {
    get() {
      throw new TypeError('a defect');
    },
  });
  world.start();
  const polled = (id: string) =>
    world.events.filter((event) => event.kind === 'evaluated' && event.accountId === id).length;
  await eventually(() => polled('long') > 2 && polled('flat') > 2, 'polls of the others');
  const failed = () =>
    world.events.filter((event) => event.kind === 'pollFailed' && event.accountId === 'short');
  await eventually(() => failed().length > 0 || world.errors.length > 0, 'the failure told');
  expect(polled('short')).toBe(0);
  world.errors.length = 0;
});
