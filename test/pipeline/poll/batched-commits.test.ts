import { setImmediate as endOfTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AccountCommit, CommitResult, StateStore } from '../../../src/core/ports/state-store.ts';
import { systemTimers } from '../../../src/exchange/system-clock.ts';
import { BatchedCommits } from '../../../src/pipeline/poll/batched-commits.ts';

const EPOCH_CHANGED: CommitResult = { kind: 'epochChanged' };

/** A store that answers when the test says so. */
class SlowStore {
  readonly calls: {
    readonly names: readonly string[];
    readonly answer: (results: CommitResult[]) => void;
  }[] = [];

  commit(commits: readonly AccountCommit[]): Promise<readonly CommitResult[]> {
    const names = commits.map(({ base }) => base.accountId);
    return new Promise((answer) => this.calls.push({ names, answer }));
  }

  get names(): readonly (readonly string[])[] {
    return this.calls.map(({ names }) => names);
  }

  answer(call: number): void {
    this.calls[call]?.answer(this.calls[call].names.map(() => EPOCH_CHANGED));
  }
}

function commitOf(accountId: string): AccountCommit {
  return { base: { accountId } } as AccountCommit;
}

function scene() {
  const store = new SlowStore();
  return { store, commits: new BatchedCommits(store as unknown as StateStore, systemTimers) };
}

describe('commits of one bucket', () => {
  it('ready in one turn go together when it ends', async () => {
    const { store, commits } = scene();
    const results = [commits.add(commitOf('a'), false), commits.add(commitOf('b'), false)];
    expect(store.names).toEqual([]);
    await endOfTurn();
    expect(store.names).toEqual([['a', 'b']]);
    store.answer(0);
    expect(await Promise.all(results)).toEqual([EPOCH_CHANGED, EPOCH_CHANGED]);
    const later = commits.add(commitOf('c'), false);
    await endOfTurn();
    expect(store.names).toEqual([['a', 'b'], ['c']]);
    store.answer(1);
    expect(await later).toEqual(EPOCH_CHANGED);
  });

  it('go at once with the first urgent one, none of them twice or in a call of its own', async () => {
    const { store, commits } = scene();
    const results = [commits.add(commitOf('a'), false), commits.add(commitOf('b'), true)];
    expect(store.names).toEqual([['a', 'b']]);
    await endOfTurn();
    results.push(commits.add(commitOf('c'), true));
    expect(store.names).toEqual([['a', 'b']]);
    store.answer(0);
    await results[0];
    await endOfTurn();
    expect(store.names).toEqual([['a', 'b'], ['c']]);
    store.answer(1);
    await Promise.all(results);
  });

  it('are one call at a time, urgent or not; those ready meanwhile go with the next', async () => {
    const { store, commits } = scene();
    const results = [commits.add(commitOf('a'), true)];
    results.push(commits.add(commitOf('b'), true), commits.add(commitOf('c'), false));
    await endOfTurn();
    expect(store.names).toEqual([['a']]);
    store.answer(0);
    await results[0];
    await endOfTurn();
    expect(store.names).toEqual([['a'], ['b', 'c']]);
    store.answer(1);
    expect(await Promise.all(results)).toHaveLength(3);
    results.push(commits.add(commitOf('d'), false));
    await endOfTurn();
    expect(store.names.at(-1)).toEqual(['d']);
    store.answer(2);
    await results[3];
  });

  it('fail together when the store fails, and later ones are tried again', async () => {
    let isLost = true;
    const store = {
      commit: async (all: readonly AccountCommit[]) => {
        if (isLost) throw new Error('lost');
        return all.map(() => EPOCH_CHANGED);
      },
    } as unknown as StateStore;
    const commits = new BatchedCommits(store, systemTimers);
    const lost = await Promise.allSettled([
      commits.add(commitOf('a'), false),
      commits.add(commitOf('b'), true),
    ]);
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isLost = false;
    expect(await commits.add(commitOf('a'), true)).toEqual(EPOCH_CHANGED);
  });
});
