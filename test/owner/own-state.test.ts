import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commit, episodeOf, evaluation, lane, load, note } from '../state/support/place.ts';
import { createFaultyDisk, type FaultyDisk } from './support/faulty-disk.ts';
import { type OwnProcess, startOwn, TRUST } from './support/own-process.ts';

const PAUSE = {
  kind: 'pause',
  accountId: null,
  author: 'tester',
  reason: 'test',
  expiresAtMs: null,
} as const;

/** Decides something: the account's next episode, with a record that has an attachment. */
async function decide({ state }: OwnProcess, accountId: string): Promise<number> {
  const base = await load(state, accountId);
  const next = episodeOf(base) + 1;
  const audit = [{ ...note(`decided ${next}`), attachments: { what: [accountId, next] } }];
  await commit(state, { base, documents: { evaluation: evaluation(accountId, next) }, audit });
  return next;
}

/** A quiet poll: nothing is decided. */
async function move({ state }: OwnProcess, accountId: string): Promise<number> {
  const base = await load(state, accountId);
  const next = episodeOf(base) + 1;
  await commit(state, {
    base,
    documents: { evaluation: evaluation(accountId, next) },
    history: [{ subject: 'account', values: { next } }],
  });
  return next;
}

async function episodes({ state }: OwnProcess, accountId: string): Promise<number> {
  return episodeOf(await load(state, accountId));
}

describe('what a process has decided', () => {
  test('is found by the next one, with the trail, in the same store epoch', async () => {
    const disk = createFaultyDisk();
    const first = await startOwn(disk);
    await first.state.controls.put(PAUSE);
    await decide(first, 'a');
    await decide(first, 'a');
    await decide(first, 'b');
    const { epoch } = await load(first.state, 'a');
    // Nothing is closed: the process was killed.
    const second = await startOwn(disk.restarted());
    expect(second.faults).toEqual([]);
    expect([await episodes(second, 'a'), await episodes(second, 'b')]).toEqual([2, 1]);
    const found = await load(second.state, 'a');
    expect([found.epoch.id, found.isNewEpoch]).toEqual([epoch.id, false]);
    expect(await second.state.audit.verify('a')).toMatchObject({ kind: 'intact' });
    expect((await second.state.audit.tail('a', 10)).length).toBeGreaterThanOrEqual(2);
    expect(await second.state.controls.list()).toMatchObject([{ kind: 'pause', reason: 'test' }]);
    // And goes on: the chain continues.
    await decide(second, 'a');
    expect(await second.state.audit.verify('a')).toMatchObject({ kind: 'intact' });
  });

  test('leaves the memory: records, attachments and samples are read from the disk', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    for (let count = 0; count < 1_300; count++) await decide(process, 'a');
    for (let count = 0; count < 40; count++) {
      process.clock.advance(1_000);
      await move(process, 'a');
    }
    process.timers.end();
    await settled();
    const trails = [...disk.files.keys()].filter((name) => name.startsWith('trail-'));
    expect(trails).toHaveLength(3);
    const { state } = process;
    const all = await state.audit.read('a', {});
    expect(all.length).toBeGreaterThan(0);
    expect(await state.audit.verify('a')).toMatchObject({ kind: 'intact' });
    expect(await state.history.read('a', 'account')).toHaveLength(40);
  });

  test('is there before the call ends, and quiet polls within a second', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    const written = () =>
      [...disk.files]
        .filter(([name]) => name.startsWith('journal-'))
        .map(([, text]) => text)
        .join('');
    expect(written()).toContain('"accountId":"a"');
    await decide(process, 'quiet');
    await move(process, 'quiet');
    await settled();
    const moved = String.raw`"accountId\":\"quiet\",\"nextEpisode\":2`;
    expect(written()).not.toContain(moved);
    process.timers.end(1_000);
    await settled();
    expect(written()).toContain(moved);
  });

  test('is read once while it is on its way to the disk', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(disk, { settle: () => promise });
    const decided = decide(process, 'a');
    await settled();
    process.timers.end(100);
    await decided;
    const numbers = (await process.state.audit.tail('a', 10)).map(({ number }) => number);
    expect(numbers).toEqual([1, 2, 3]);
    resolve();
    await settled();
  });

  test('is found again by the values, which end at their time', async () => {
    const disk = createFaultyDisk();
    const first = await startOwn(disk);
    await first.values.set('stays', 'for ever');
    await first.values.set('goes', 'soon', 1_000);
    await first.values.set('gone', 'now');
    await first.values.set('gone', null);
    const second = await startOwn(disk.restarted());
    expect(['stays', 'goes', 'gone'].map((name) => second.values.get(name))).toEqual([
      'for ever',
      'soon',
      undefined,
    ]);
    second.clock.advance(1_001);
    expect(second.values.get('goes')).toBeUndefined();
  });
});

describe('a disk that', () => {
  test('fails holds nothing up, is said once, and has everything when it works again', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    disk.failing = new Error('the disk is full');
    await decide(process, 'a');
    await decide(process, 'a');
    await settled();
    expect(process.said).toEqual(['Error: the disk is full']);
    disk.failing = undefined;
    process.timers.end(1_000);
    await settled();
    expect(process.said).toEqual(['Error: the disk is full', 'well']);
    const next = await startOwn(disk.restarted());
    expect([await episodes(next, 'a'), next.run]).toEqual([3, process.run]);
    expect(await next.state.audit.verify('a')).toMatchObject({ kind: 'intact' });
  });

  test('hangs is not waited for beyond its time, and is said', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    disk.hangs = true;
    let isDone = false;
    const decided = decide(process, 'a').then(() => (isDone = true));
    await settled();
    expect(isDone).toBe(false);
    process.timers.end(100);
    await decided;
    expect(process.said).toEqual(['Error: writing takes longer than 100 ms']);
    // The next one does not wait at all.
    await decide(process, 'a');
    disk.goOn();
    await settled();
    process.timers.end(1_000);
    await settled();
    expect(process.said.at(-1)).toBe('well');
    expect(await episodes(await startOwn(disk.restarted()), 'a')).toBe(2);
  });

  test('failed until the process died leaves a state in doubt: the next store epoch begins', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    // Full: nothing can be added, but a file can have another name.
    const full = () => Promise.reject(new Error('full'));
    Object.assign(disk, { append: full, write: full });
    await decide(process, 'a');
    await settled();
    const next = await startOwn(disk.restarted());
    expect(next.run).not.toBe(process.run);
    expect((await load(next.state, 'a')).isNewEpoch).toBe(true);
    expect(await episodes(next, 'a')).toBe(1);
  });

  test('cannot be read keeps no process from starting', async () => {
    const disk = createFaultyDisk();
    Object.assign(disk, { names: () => Promise.reject(new Error('I/O error')) });
    const process = await startOwn(disk);
    expect(process.faults).toMatchObject([{ words: 'I/O error' }]);
    await decide(process, 'a');
    expect(process.said).toEqual(['Error: I/O error']);
  });
});

describe('a journal', () => {
  const journalOf = ({ files }: FaultyDisk): [name: string, text: string] =>
    [...files].find(([name]) => name.startsWith('journal-')) ?? ['', ''];

  async function changed(change: (text: string) => string) {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await process.state.controls.put(PAUSE);
    for (let count = 0; count < 3; count++) await decide(process, 'a');
    const [name, text] = journalOf(disk);
    disk.files.set(name, change(text));
    return { process, name, disk, next: await startOwn(disk.restarted()) };
  }

  test('whose last line is torn goes on without that line', async () => {
    const { process, next } = await changed((text) => `${text}0123 [1,`);
    expect([next.faults, next.run, await episodes(next, 'a')]).toEqual([[], process.run, 3]);
  });

  test.each([
    ['a changed text', (text: string) => text.replace('tester', 'tester2')],
    ['a changed seal', (text: string) => text.replace(/^.{8}/, '00000000')],
  ])('with %s is set aside, and nothing of it is used', async (_, change) => {
    const { process, name, disk, next } = await changed(change);
    expect(next.faults).toMatchObject([{ file: name, words: expect.stringContaining('lacks the seal') }]);
    expect(disk.files.has(`${name}.damaged`)).toBe(true);
    expect([await episodes(next, 'a'), next.run === process.run]).toEqual([0, false]);
    // What it did is not overwritten by what comes now.
    await decide(next, 'a');
    const unused = [...disk.files].filter(([file]) => /^trail-.*\.unused-/.test(file));
    expect(unused.map(([, text]) => text).join('')).toContain('decided 3');
    expect(await next.state.audit.verify('a')).toMatchObject({ kind: 'intact' });
  });

  const lines = (change: (all: string[]) => void) => (text: string) => {
    const all = text.split('\n');
    change(all);
    return all.join('\n');
  };
  test.each([
    ['a line taken out', lines((all) => void all.splice(-3, 1))],
    ['a line twice', lines((all) => void all.splice(-2, 0, all.at(-2) ?? ''))],
    [
      'two lines in the other order',
      lines((all) => void all.splice(-3, 2, all.at(-2) ?? '', all.at(-3) ?? '')),
    ],
  ])('with %s counts up to there, in doubt', async (_, change) => {
    const { process, next } = await changed(change);
    expect(next.faults).toHaveLength(1);
    expect(next.run).not.toBe(process.run);
    expect(await next.state.controls.list()).toHaveLength(1);
    expect((await load(next.state, 'a')).isNewEpoch).toBe(true);
  });

  test('that has grown is replaced by a new one, and the old one goes', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    const long = 'x'.repeat(400_000);
    for (let count = 0; count < 14; count++) {
      await process.values.set('long', long + count);
      await decide(process, 'a');
    }
    const names = [...disk.files.keys()].filter((name) => name.startsWith('journal-'));
    expect(names).toEqual(['journal-2.jsonl']);
    const next = await startOwn(disk.restarted());
    expect([await episodes(next, 'a'), next.values.get('long')]).toEqual([14, `${long}13`]);
  });

  test('has only what differs of an account that it knows', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    const before = journalOf(disk)[1].length;
    for (let count = 0; count < 5; count++) {
      await move(process, 'a');
      process.timers.end(1_000);
      await settled();
    }
    const added = journalOf(disk)[1].slice(before);
    expect(added).toContain('"kind":"change"');
    expect(added).not.toContain('"kind":"account"');
    expect(await episodes(await startOwn(disk.restarted()), 'a')).toBe(6);
  });

  test('knows what an account no longer has', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    const before = await load(process.state, 'a');
    const one = new Map([['BTC_PERP', lane(before, 'BTC_PERP')]]);
    await commit(process.state, { base: before, lanes: one, audit: [note('a lane')] });
    const base = await load(process.state, 'a');
    await commit(process.state, { base, lanes: new Map([['BTC_PERP', null]]), audit: [note('no lane')] });
    const next = await startOwn(disk.restarted());
    expect((await load(next.state, 'a')).lanes.size).toBe(0);
  });

  test('that is replaced while somebody reads it is read anew', async () => {
    const disk = createFaultyDisk();
    const process = await startOwn(disk);
    await decide(process, 'a');
    const [name] = journalOf(disk);
    const reader = disk.restarted();
    const read = reader.read.bind(reader);
    let isFirst = true;
    Object.assign(reader, {
      read: async (file: string, mostBytes: number) => {
        const isGone = isFirst && file === name;
        isFirst &&= !isGone;
        return isGone ? undefined : await read(file, mostBytes);
      },
    });
    expect(await episodes(await startOwn(reader), 'a')).toBe(1);
    expect(isFirst).toBe(false);
  });

  test('without a key has no seals, and is read without one', async () => {
    const disk = createFaultyDisk();
    const plain = { ...TRUST, recordSeal: () => undefined };
    await decide(await startOwn(disk, plain), 'a');
    expect(journalOf(disk)[1]).toMatch(/^- \[1,0,/);
    expect(await episodes(await startOwn(disk.restarted(), plain), 'a')).toBe(1);
  });
});

type Step = 'decide' | 'move' | 'tick' | 'fail' | 'work' | 'value';

/** Plays a process until it dies in the given call of the disk. Resolves to what was certain by then. */
async function playUntilDeath(disk: FaultyDisk, steps: readonly (readonly [Step, string])[]) {
  const certain = new Map<string, number>();
  const made = new Map<string, number>();
  let run: string | undefined;
  const played = (async () => {
    const process = await startOwn(disk);
    ({ run } = process);
    for (const [step, accountId] of steps) {
      if (step === 'decide') {
        made.set(accountId, (made.get(accountId) ?? 0) + 1);
        await decide(process, accountId);
        if (process.said.at(-1) === 'well' || process.said.length === 0)
          certain.set(accountId, made.get(accountId) ?? 0);
      } else if (step === 'move') {
        made.set(accountId, (made.get(accountId) ?? 0) + 1);
        await move(process, accountId);
      } else if (step === 'value') await process.values.set(accountId, step);
      else if (step === 'tick') process.timers.end(1_000);
      else disk.failing = step === 'fail' ? new Error('full') : undefined;
      await settled();
      if (disk.isDead) return;
    }
  })();
  const over = { isPlayed: false };
  void played.finally(() => (over.isPlayed = true));
  const died = (async () => {
    while (!disk.isDead && !over.isPlayed) await setImmediate();
    // What does not need the disk goes on for a moment.
    for (let turns = 0; turns < 20; turns++) await setImmediate();
  })();
  await Promise.race([played, died]);
  return { certain, made, run };
}

test('whenever a process dies, and whatever part of a write lands, the next one finds each decision or is in doubt', async () => {
  const step = fc.tuple(
    fc.constantFrom<Step>('decide', 'decide', 'decide', 'move', 'tick', 'fail', 'work', 'work', 'value'),
    fc.constantFrom('a', 'b', 'c'),
  );
  const lives = fc.array(
    fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 14 }),
      change: fc.integer({ min: 1, max: 60 }),
      part: fc.constantFrom(0, 0.5, 0.97, 1),
    }),
    { minLength: 1, maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(lives, async (all) => {
      let disk = createFaultyDisk();
      let base = new Map<string, number>();
      for (const { steps, change, part } of all) {
        disk.dieAt = { change, part };
        const { certain, run } = await playUntilDeath(disk, steps);
        disk = disk.restarted();
        const next = await startOwn(disk);
        expect(next.faults).toEqual([]);
        for (const accountId of ['a', 'b', 'c']) {
          const found = await episodes(next, accountId);
          const least = (base.get(accountId) ?? 0) + (certain.get(accountId) ?? 0);
          const isSure = run !== undefined && next.run === run;
          if (isSure) expect(found).toBeGreaterThanOrEqual(least);
          const verdict = await next.state.audit.verify(accountId);
          if (isSure) expect(['intact', 'empty', 'absent']).toContain(verdict.kind);
        }
        base = new Map();
        for (const accountId of ['a', 'b', 'c']) base.set(accountId, await episodes(next, accountId));
        disk = disk.restarted();
      }
    }),
    { numRuns: 60 },
  );
}, 60_000);

async function settled(): Promise<void> {
  for (let turns = 0; turns < 30; turns++) await setImmediate();
}
