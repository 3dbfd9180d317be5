import { execFile } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openMirror } from '../../../src/app/open-mirror.ts';
import type { Timers } from '../../../src/core/ports/clock.ts';
import type { Disk } from '../../../src/core/ports/disk.ts';
import { type OperatorTrust, TRUSTING } from '../../../src/core/ports/operator-trust.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';
import { createDiskDirectory } from '../../../src/owner/disk-directory.ts';
import { SharedTime } from '../../../src/pipeline/shared-time.ts';
import { createOperatorTrust } from '../../../src/state/controls/operator-seal.ts';
import { Mirror } from '../../../src/state/mirror/mirror.ts';
import { type ReadMirror, readMirror } from '../../../src/state/mirror/read-mirror.ts';
import {
  createMemoryPlace,
  createMemoryState,
  createStandby,
  type MemoryPlace,
  type State,
} from '../../../src/state/state.ts';
import { createMemoryDisk } from '../support/memory-mirror.ts';
import { commit, episodeOf, evaluation, load, note } from '../support/place.ts';

/** What a process writes to the mirror, how it restarts from it, and what it does when the disk fails. */

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const ID = 'desk';
const PREFIX = 'bw';

let mirrors: Mirror[] = [];
beforeEach(() => {
  mirrors = [];
});
afterEach(async () => {
  for (const mirror of mirrors) await mirror.close();
});

interface Life {
  /** What it starts alone with. */
  readonly found?: ReadMirror | undefined;
  readonly trust?: OperatorTrust;
  /** Waits for the disk, as a busy machine may take its time. */
  readonly isPatient?: boolean;
}

const PATIENT: Pick<Timers, 'after'> = { after: (delayMs, call) => systemTimers.after(100 * delayMs, call) };

/** One life of a process. */
function live(shared: MemoryPlace, place: Disk, { found, trust = TRUSTING, isPatient = false }: Life = {}) {
  const standby = createStandby(shared.backend, OPTIONS);
  if (found !== undefined) standby.beginAlone(found, undefined);
  const states: string[] = [];
  const mirror = new Mirror({
    place,
    owner: { prefix: PREFIX, ordinal: 0, trust },
    timers: isPatient ? PATIENT : systemTimers,
    source: standby.mirrored({ nowMs: () => systemClock.nowMs(), clockOffsetMs: () => 0 }),
    onState: (failing) => void states.push(failing === undefined ? 'well' : String(failing.error)),
  });
  mirrors.push(mirror);
  standby.mirrorTo(mirror);
  return { standby, mirror, states, own: createMemoryState(OPTIONS, { backend: standby }) };
}

async function count(state: State): Promise<number> {
  const base = await load(state, ID);
  const next = episodeOf(base) + 1;
  const audit = [{ ...note(`counted ${next}`), attachments: { next } }];
  await commit(state, { base, documents: { evaluation: evaluation(ID, next) }, audit });
  return next;
}

const reading = (place: Disk, trust: OperatorTrust = TRUSTING): Promise<ReadMirror | undefined> =>
  readMirror(place, { prefix: PREFIX, ordinal: 0, trust });

/** Keeps the files as they were after this many writes, and what had been acknowledged by then. */
function cutAfter(writes: number) {
  const whole = createMemoryDisk();
  const kept = createMemoryDisk();
  const ends = { acknowledged: 0, kept: -1 };
  let done = 0;
  const counted =
    <A extends readonly unknown[]>(write: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      await write(...args);
      done += 1;
      if (done !== writes) return;
      ends.kept = ends.acknowledged;
      for (const name of await whole.names()) await kept.write(name, (await whole.read(name, 1e9)) ?? '');
    };
  const { write, append, remove } = whole;
  const place = { ...whole, write: counted(write), append: counted(append), remove: counted(remove) };
  return { place, kept, ends };
}

test('killed after any write while alone, it has all that was acknowledged, and hands it back whole and once', async () => {
  let cuts = 0;
  for (let writes = 1; ; writes += 1) {
    const shared = createMemoryPlace(OPTIONS);
    const { place, kept, ends } = cutAfter(writes);
    const first = live(shared, place);
    for (let step = 0; step < 2; step += 1) ends.acknowledged = await count(first.own);
    first.standby.takeOver();
    for (let step = 0; step < 4; step += 1) ends.acknowledged = await count(first.own);
    await first.mirror.close();
    if (ends.kept === -1) break;
    const found = await reading(kept);
    if (found?.process.isAlone !== true) continue;
    cuts += 1;
    expect(found.faults).toEqual([]);
    const next = live(shared, kept, { found });
    const episode = episodeOf(await load(next.own, ID));
    expect(episode, `after ${writes} writes`).toBeGreaterThanOrEqual(ends.kept);
    expect(await count(next.own)).toBe(episode + 1);
    await next.standby.handBack();
    next.own.store.forgetAll();
    const other = createMemoryState(OPTIONS, shared);
    expect(episodeOf(await load(other, ID))).toBe(episode + 1);
    const verdict = await other.audit.verify(ID);
    expect(verdict, `after ${writes} writes`).toMatchObject({ kind: 'intact' });
    const said = (await other.audit.tail(ID, 100)).flatMap(({ record: { content } }) =>
      content.kind === 'note' ? [content.words] : [],
    );
    expect(said).toEqual(Array.from({ length: episode + 1 }, (_, at) => `counted ${at + 1}`));
    // The next life does not hand back again what has been handed back.
    await next.mirror.close();
    expect((await reading(kept))?.process.isAlone).toBe(false);
  }
  expect(cuts).toBeGreaterThan(6);
});

/** Words of the records made alone that are in no chain yet, in order. */
const unattachedOf = ({ standby }: ReturnType<typeof live>): readonly string[] =>
  (standby.unattached.of(ID)?.segment ?? []).map(({ text }) => (JSON.parse(text) as Noted).content.words);

interface Noted {
  readonly content: { readonly words: string };
}

test('killed after any write during a hand-back of unattached records, it has each of them once', async () => {
  let cuts = 0;
  for (let writes = 1; ; writes += 1) {
    const shared = createMemoryPlace(OPTIONS);
    const { place, kept, ends } = cutAfter(writes);
    const first = live(shared, place);
    const other = createMemoryState(OPTIONS, shared);
    await count(first.own);
    for (const round of [1, 2]) {
      first.standby.takeOver();
      await count(first.own);
      for (let step = 0; step < 2; step += 1) await count(other);
      ends.acknowledged = round;
      await first.standby.handBack(() => first.own.store.forgetAll());
      await first.mirror.processChanged();
      await load(first.own, ID);
    }
    await first.mirror.close();
    expect(unattachedOf(first)).toEqual(['counted 2', 'counted 4']);
    if (ends.kept === -1) break;
    // Before that the shared store was in another state.
    if (ends.kept < 2) continue;
    cuts += 1;
    const found = await reading(kept);
    if (found === undefined) throw new Error('nothing is kept');
    expect(found.faults).toEqual([]);
    const next = live(shared, kept, { found: found.process.isAlone ? found : undefined });
    next.standby.unattached.add(found.unattached);
    await next.standby.handBack(() => next.own.store.forgetAll());
    expect(unattachedOf(next), `after ${writes} writes`).toEqual(['counted 2', 'counted 4']);
    await next.mirror.processChanged();
    expect((await reading(kept))?.unattached, `after ${writes} writes`).toEqual(next.standby.unattached.all);
    for (const one of next.standby.unattached.all) await next.standby.attached(one);
    const left = await reading(kept);
    expect(left?.unattached).toEqual([]);
    // In the form of versions that refuse unknown members.
    expect(Object.keys(left?.process ?? {})).not.toContain('unattached');
    expect((await kept.names()).filter((name) => name.startsWith('unattached'))).toEqual([]);
  }
  expect(cuts).toBeGreaterThan(2);
});

test('polls without records after the last write cause no conflict: the state is handed back under the same epoch', async () => {
  const shared = createMemoryPlace(OPTIONS);
  const place = createMemoryDisk();
  const first = live(shared, place);
  await count(first.own);
  await first.mirror.processChanged();
  const found = await reading(place);
  // A quiet poll that the mirror does not know of.
  const base = await load(first.own, ID);
  await commit(first.own, { base, documents: { evaluation: evaluation(ID, 1) } });
  const next = live(shared, createMemoryDisk(), { found });
  const { epoch } = await load(createMemoryState(OPTIONS, shared), ID);
  expect(await count(next.own)).toBe(2);
  const [handed] = await next.standby.handBack();
  expect(handed).toMatchObject({ accountId: ID, how: 'continued', segment: [] });
  next.own.store.forgetAll();
  const after = await load(createMemoryState(OPTIONS, shared), ID);
  expect(episodeOf(after)).toBe(2);
  expect(after.epoch.id).toBe(epoch.id);
  expect(await next.own.audit.verify(ID)).toMatchObject({ kind: 'intact' });
});

test('an unreadable file is reported, and the content of the others is known', async () => {
  const shared = createMemoryPlace(OPTIONS);
  const place = createMemoryDisk();
  const { own, standby, mirror } = live(shared, place);
  const other = createMemoryState(OPTIONS, shared);
  await count(own);
  standby.takeOver();
  await count(own);
  await count(other);
  await standby.handBack(() => own.store.forgetAll());
  await mirror.processChanged();
  await mirror.close();
  const opened = async (): Promise<readonly [number, readonly unknown[]]> => {
    const events: unknown[] = [];
    const backend = createStandby(shared.backend, OPTIONS);
    const next = await openMirror(
      { place: { ...place, where: 'memory' }, prefix: PREFIX, ordinal: 0, operators: TRUSTING },
      {
        backend,
        clock: systemClock,
        timers: systemTimers,
        time: new SharedTime(systemClock, 'i'),
        telemetry: { emit: (event) => void events.push(event) },
      },
    );
    if (next !== undefined) mirrors.push(next);
    return [backend.unattached.all.length, events];
  };
  expect(await opened()).toEqual([1, []]);
  const name = (await place.names()).find((one) => one.startsWith('unattached-')) ?? '';
  await place.write(name, '-\n{}\n');
  const [unattached, events] = await opened();
  expect(unattached).toBe(0);
  expect(events).toMatchObject([
    { kind: 'mirror', state: 'unread', name, error: { message: `${name} cannot be read: line 2` } },
  ]);
});

describe('files that others have written', () => {
  const trust = createOperatorTrust({
    key: () => 'a key of operators with 32 characters or more',
    isGuarded: true,
  });

  async function written() {
    const place = createMemoryDisk();
    const { own, mirror } = live(createMemoryPlace(OPTIONS), place, { trust });
    await count(own);
    await mirror.processChanged();
    const name = (await place.names()).find((one) => one.startsWith('account-')) ?? '';
    return { place, name };
  }

  test('are not believed without the seal of operators.key', async () => {
    const { place, name } = await written();
    const text = (await place.read(name, 1e9)) ?? '';
    await place.write(name, text.replace('"accountId":"desk"', '"accountId":"desk" '));
    expect(await reading(place, trust)).toMatchObject({
      accounts: [],
      faults: [{ words: `${name} lacks the seal of operators.key` }],
    });
    const process = (await place.read('process.json', 1e9)) ?? '';
    for (const one of ['process.json', 'process-copy.json'])
      await place.write(one, process.replace(/"atMs":\d+/, '"atMs":4000000000000'));
    await expect(reading(place, trust)).rejects.toThrow('process.json lacks the seal of operators.key');
  });

  test.each([
    ['cut short', (text: string) => text.slice(0, -30), /process\.json cannot be read/],
    ['of another shape', (text: string) => text.replace('"isAlone":false', '"isAlone":0'), /isAlone/],
    [
      'of another installation',
      (text: string) => text.replace('"prefix":"bw"', '"prefix":"other"'),
      /of another process/,
    ],
    ['empty', () => '', /process\.json cannot be read/],
  ])('are refused in words if the file is %s', async (_, change, words) => {
    const place = createMemoryDisk();
    const { own, mirror } = live(createMemoryPlace(OPTIONS), place);
    await count(own);
    await mirror.processChanged();
    await place.remove('process-copy.json');
    await place.write('process.json', change((await place.read('process.json', 1e9)) ?? ''));
    await expect(reading(place)).rejects.toThrow(words);
  });
});

describe('a disk', () => {
  test('that fails blocks nothing: one report, and one more when it works again', async () => {
    const place = createMemoryDisk();
    let isFull = true;
    const full = new Error('ENOSPC: no space left on device');
    const write: Disk['write'] = (name, text) => (isFull ? Promise.reject(full) : place.write(name, text));
    const { own, mirror, states } = live(createMemoryPlace(OPTIONS), { ...place, write });
    for (let step = 0; step < 3; step += 1) await count(own);
    expect(states).toEqual([String(full)]);
    isFull = false;
    mirror.start();
    await expect.poll(() => states).toEqual([String(full), 'well']);
    await expect.poll(async () => (await reading(place))?.accounts[0]?.accountId).toBe(ID);
  });

  test('that hangs is waited for once', async () => {
    const place = createMemoryDisk();
    const never = new Promise<void>(() => undefined);
    let asked = 0;
    const write = (): Promise<void> => {
      asked += 1;
      return never;
    };
    const { own, states } = live(createMemoryPlace(OPTIONS), { ...place, write });
    for (let step = 0; step < 3; step += 1) await count(own);
    expect(states).toEqual(['Error: writing takes longer than 250 ms']);
    expect(asked).toBe(1);
  });

  test('gets files that only their owner can read, and none that is half written', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-mirror-'));
    try {
      const inside = path.join(folder, 'deep', 'instance-0');
      const place = createDiskDirectory(inside);
      const { own, mirror } = live(createMemoryPlace(OPTIONS), place, { isPatient: true });
      await count(own);
      await mirror.processChanged();
      expect((await stat(inside)).mode & 0o777).toBe(0o700);
      for (const name of await place.names())
        expect((await stat(path.join(inside, name))).mode & 0o777).toBe(0o600);
      // Left in the middle of a write by a process that died.
      await writeFile(path.join(inside, 'process.json.new'), 'half');
      expect((await reading(place))?.accounts.map(({ accountId }) => accountId)).toEqual([ID]);
      await expect(place.read('process.json', 10)).rejects.toThrow(/more than 10/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('whose directory is a file is reported, and the process goes on', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-mirror-'));
    try {
      const file = path.join(folder, 'file');
      await writeFile(file, '');
      const place = createDiskDirectory(file);
      const { own, states } = live(createMemoryPlace(OPTIONS), place, { isPatient: true });
      await count(own);
      expect(states).toEqual([expect.stringMatching(/EEXIST|ENOTDIR/)]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('whose directory cannot be made, as below /proc, took a thread of the process for good', async () => {
    const place = createDiskDirectory('/proc/breakwater/instance-0');
    await expect(place.write('process.json', '{}')).rejects.toThrow("mkdir '/proc");
  });
});

describe('somebody else on the machine', () => {
  let folder = '';
  let inside = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'breakwater-mirror-'));
    inside = path.join(folder, 'instance-0');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Returns why it could not be written. */
  async function written(place = createDiskDirectory(inside)): Promise<readonly string[]> {
    const { own, mirror, states } = live(createMemoryPlace(OPTIONS), place, { isPatient: true });
    await count(own);
    await mirror.processChanged();
    await mirror.close();
    return states;
  }

  test('cannot block the mirror by being first: a directory of another owner is not used', async () => {
    await mkdir(inside, { mode: 0o777 });
    const { uid } = await stat(inside);
    const place = createDiskDirectory(inside, uid + 1);
    await expect(reading(place)).rejects.toThrow(/instance-0 belongs to another user/);
    expect(await written(place)).toEqual([expect.stringMatching(/belongs to another user/)]);
    expect(await readdir(inside)).toEqual([]);
  });

  test('is shut out of a directory that was open to all', async () => {
    await mkdir(inside);
    await chmod(inside, 0o777);
    expect(await written()).toEqual([]);
    expect((await stat(inside)).mode & 0o777).toBe(0o700);
  });

  test('who may write to the parent directory could swap it: it is not used', async () => {
    await chmod(folder, 0o777);
    expect(await written()).toEqual([expect.stringMatching(/everybody may write to .*: chmod o-w /)]);
    await chmod(folder, 0o1777);
    expect(await written()).toEqual([]);
  });

  test('a mirror that failed writes nothing once it is closed', async () => {
    const place = createMemoryDisk();
    let isOpen = false;
    const slow = Promise.withResolvers<void>();
    const written: string[] = [];
    const failing: Disk = {
      ...place,
      write: async (name) => {
        if (!isOpen) throw new Error('no room');
        await slow.promise;
        written.push(name);
      },
    };
    const { own, mirror, states } = live(createMemoryPlace(OPTIONS), failing);
    await count(own);
    await mirror.processChanged();
    await new Promise(setImmediate);
    isOpen = true;
    await mirror.processChanged();
    const closed = mirror.close();
    expect(written).toEqual([]);
    slow.resolve();
    await closed;
    expect(written).toEqual(['process.json', 'process-copy.json']);
    await new Promise(setImmediate);
    expect(written).toHaveLength(2);
    expect(states).toEqual([expect.stringMatching('no room')]);
  });

  test('with a link in place of the directory gets nothing written behind it', async () => {
    const behind = path.join(folder, 'behind');
    await mkdir(behind);
    await symlink(behind, inside);
    expect(await written()).toEqual([expect.stringMatching(/is no directory|EEXIST/)]);
    await expect(reading(createDiskDirectory(inside))).rejects.toThrow(/is no directory/);
    expect(await readdir(behind)).toEqual([]);
  });

  test('with a link in place of a file has it neither overwritten nor read', async () => {
    const victim = path.join(folder, 'victim');
    await writeFile(victim, 'precious');
    await mkdir(inside);
    await symlink(victim, path.join(inside, 'process.json.new'));
    await symlink('/dev/zero', path.join(inside, 'process.json'));
    expect(await written()).toEqual([expect.stringMatching(/ELOOP/)]);
    expect(await reading(createDiskDirectory(inside))).toMatchObject({
      faults: [{ files: ['process.json'], words: expect.stringMatching(/ELOOP/) }],
    });
    expect(await readFile(victim, 'utf8')).toBe('precious');
  });

  test('with a pipe in place of a file does not block the start', async () => {
    await mkdir(inside);
    await promisify(execFile)('mkfifo', [path.join(inside, 'process.json')]);
    await expect(reading(createDiskDirectory(inside))).rejects.toThrow('process.json is no file');
  });

  // Only root can give a file away.
  test.runIf(process.getuid?.() === 0)('who owns a file of the mirror is not believed', async () => {
    expect(await written()).toEqual([]);
    const given = async (): Promise<unknown> => {
      await chown(path.join(inside, 'process.json'), 65_534, 65_534);
      return await reading(createDiskDirectory(inside));
    };
    // A slow disk may still be at work, and replace the file.
    await expect
      .poll(async () => ((await given()) as ReadMirror).faults)
      .toEqual([{ files: ['process.json'], words: 'process.json belongs to another user (65534)' }]);
  });
});
