import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, test } from 'vitest';
import { POINT_PREFIX } from '../../../src/pipeline/points.ts';
import { closeAfterTest, openExchange } from '../../contract/support/world.ts';
import { eventually, openWorld } from '../world.ts';

const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 12% } }
    do: [{ reduce: { untilDistance: 25%, slippage: 1% } }]
`;

test('decisions that lead to an action are committed in the same turn, others after it', async () => {
  const simulator = await openExchange({ speed: 1 });
  const world = openWorld(simulator, { accounts: { long: { rules: ['near'] } }, rules: NEAR });
  let isSameTurn = false;
  const decided = (): void => {
    isSameTurn = true;
    setImmediate(() => {
      isSameTurn = false;
    });
  };
  subscribe(`${POINT_PREFIX}poll.committing`, decided);
  closeAfterTest(async () => void unsubscribe(`${POINT_PREFIX}poll.committing`, decided));
  const { store } = world.context;
  const commit = store.commit.bind(store);
  const commits: { readonly sameTurn: boolean; readonly byPoll: boolean; readonly intents: number }[] = [];
  store.commit = (changes) => {
    for (const { lanes, due } of changes) {
      const intents = [...(lanes?.values() ?? [])].reduce(
        (count, lane) => count + (lane?.intents.length ?? 0),
        0,
      );
      commits.push({ sameTurn: isSameTurn, byPoll: due !== undefined, intents });
    }
    return commit(changes);
  };
  const polls = () => commits.filter(({ byPoll }) => byPoll);
  world.start();
  await eventually(() => polls().length > 3, 'polls');
  expect(polls().every(({ sameTurn }) => !sameTurn)).toBe(true);
  const calm = polls().length;
  simulator.setPrice('BTC_PERP', '43000');
  await eventually(() => polls().some(({ intents }) => intents > 0), 'an intent');
  const breached = polls().find(({ intents }, index) => index >= calm && intents > 0);
  expect(breached).toMatchObject({ sameTurn: true });
});
