import { afterEach, expect, test } from 'vitest';
import type { AuditReader } from '../../src/core/ports/audit-reader.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryState, type State } from '../../src/state/state.ts';
import { ActionFeed } from '../../src/web/events/action-feed.ts';
import { accountView } from './fixture.ts';

const states: State[] = [];
afterEach(() => {
  for (const state of states.splice(0)) state.close();
});

function openState(): State {
  const state = createMemoryState({ clock: systemClock });
  states.push(state);
  return state;
}

async function cancel(state: State, accountId: string, atMs: number): Promise<void> {
  const { load } = await state.store.read(accountId);
  if (load.kind !== 'loaded') throw new Error('not loaded');
  const event = { accountId, market: 'M', reason: 'resolved', words: `at ${atMs}`, alarm: false };
  const audit = [{ kind: 'action', event: { ...event, kind: 'cancelling', atMs } } as const];
  await state.store.commit([{ base: load.account, audit }]);
}

const living = (accountId: string, epoch: string, acted: number) => ({
  view: accountView(accountId, { epoch: { id: epoch, why: 'empty', sinceMs: 1 } }),
  acted,
});

test('actions after Redis was emptied are shown: the trail starts at 1 again', async () => {
  let state = openState();
  const audit: Pick<AuditReader, 'read' | 'tail'> = {
    read: (...given) => state.audit.read(...given),
    tail: (...given) => state.audit.tail(...given),
  };
  const feed = new ActionFeed(audit);
  for (const atMs of [10, 20, 30]) await cancel(state, 'desk-1', atMs);
  await feed.refresh([living('desk-1', 'one', 1)]);
  expect(feed.newest(10).map(({ atMs }) => atMs)).toEqual([30, 20, 10]);
  const { cursor } = feed;

  state = openState();
  await cancel(state, 'desk-1', 40);
  await feed.refresh([living('desk-1', 'two', 2)]);
  expect(feed.newest(10).map(({ atMs }) => atMs)).toEqual([40]);
  expect(feed.after(cursor).map(({ atMs }) => atMs)).toEqual([40]);
});

test('an account with an unreadable trail hides no others', async () => {
  const state = openState();
  let isLost = true;
  const feed = new ActionFeed({
    read: (...given) => state.audit.read(...given),
    tail: (accountId, count) =>
      isLost && accountId === 'desk-2'
        ? Promise.reject(new Error('lost'))
        : state.audit.tail(accountId, count),
  });
  await cancel(state, 'desk-1', 10);
  await cancel(state, 'desk-2', 20);
  const views = [living('desk-1', 'one', 1), living('desk-2', 'one', 1)];
  await expect(feed.refresh(views)).rejects.toThrow('lost');
  expect(feed.newest(10).map(({ atMs }) => atMs)).toEqual([10]);
  isLost = false;
  await feed.refresh(views);
  expect(feed.newest(10).map(({ atMs }) => atMs)).toEqual([20, 10]);
});
