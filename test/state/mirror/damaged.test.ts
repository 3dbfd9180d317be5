import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openMirror } from '../../../src/app/open-mirror.ts';
import type { Disk } from '../../../src/core/ports/disk.ts';
import { TRUSTING } from '../../../src/core/ports/operator-trust.ts';
import type { DaemonEvent } from '../../../src/core/ports/telemetry.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';
import { createDiskDirectory } from '../../../src/owner/disk-directory.ts';
import { SharedTime } from '../../../src/pipeline/shared-time.ts';
import type { Mirror } from '../../../src/state/mirror/mirror.ts';
import { createMemoryPlace, createMemoryState, createStandby } from '../../../src/state/state.ts';
import { createMemoryDisk } from '../support/memory-mirror.ts';
import { commit, episodeOf, evaluation, load, note } from '../support/place.ts';

/** One damaged file of a mirror stops the account that it is of at most, and is kept. */

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const DAMAGE = '-\n{"version":1,';
const mirrors: Mirror[] = [];
afterEach(async () => {
  for (const mirror of mirrors.splice(0)) await mirror.close();
});

interface Start {
  readonly shared?: ReturnType<typeof createMemoryPlace>;
  readonly place: Disk;
  readonly lost?: string;
}

/** One life of a process, from its start. */
async function started({ shared = createMemoryPlace(OPTIONS), place, lost }: Start) {
  const events: DaemonEvent[] = [];
  const backend = createStandby(shared.backend, OPTIONS);
  const mirror = await openMirror(
    { place: { ...place, where: 'kept' }, prefix: 'bw', ordinal: 0, operators: TRUSTING },
    {
      backend,
      clock: systemClock,
      timers: systemTimers,
      time: new SharedTime(systemClock, 'i'),
      telemetry: { emit: (event) => void events.push(event) },
      ...(lost === undefined ? {} : { lost }),
    },
  );
  if (mirror !== undefined) mirrors.push(mirror);
  const own = createMemoryState(OPTIONS, { backend });
  const count = async (accountId: string): Promise<number> => {
    const base = await load(own, accountId);
    const next = episodeOf(base) + 1;
    await commit(own, {
      base,
      documents: { evaluation: evaluation(accountId, next) },
      audit: [note(`counted ${next}`)],
    });
    return next;
  };
  const end = async (): Promise<void> => {
    await mirror?.processChanged();
    await mirror?.close();
  };
  return { backend, mirror, events, own, count, end };
}

/** A process that went on alone with two accounts, and ended. Returns the name of the file of the first. */
async function wentOnAlone(place: Disk): Promise<string> {
  const { backend, count, end } = await started({ place });
  await count('desk');
  const name = (await place.names()).find((one) => one.startsWith('account-')) ?? '';
  await count('other');
  backend.takeOver();
  for (const accountId of ['desk', 'other']) await count(accountId);
  await end();
  return name;
}

const textOf = async (place: Disk, name: string): Promise<string | undefined> => await place.read(name, 1e9);

test.each(['account', 'audit'])('a damaged %s file stops its own account, and no other', async (kind) => {
  const place = createMemoryDisk();
  const account = await wentOnAlone(place);
  const name = kind === 'account' ? account : account.replace('account-', 'audit-').replace('json', 'jsonl');
  await place.write(name, kind === 'account' ? DAMAGE : '-\n{}\n');
  const whole = await textOf(place, account);
  // The second life must not take for whole what the first has written over it.
  for (const life of [1, 2]) {
    const { backend, events, count, end } = await started({ place, lost: 'it is away' });
    expect([backend.isAlone, backend.watchesOnly], `life ${life}`).toEqual([true, undefined]);
    expect([backend.isKnown('desk'), backend.isKnown('other')]).toEqual([false, true]);
    const words = expect.stringMatching(
      `^${path.join('kept', 'instance-0', name)} is damaged.*Bring Redis back`,
    );
    expect(events).toMatchObject([{ kind: 'mirror', state: 'unread', name, isStopped: true, words }]);
    expect(await count('other')).toBe(2 + life);
    await count('desk');
    await end();
    expect([await textOf(place, account), await textOf(place, name)]).toEqual([
      whole,
      kind === 'account' ? DAMAGE : '-\n{}\n',
    ]);
  }
});

test('is kept beside a new one when everything is handed back', async () => {
  const place = createMemoryDisk();
  const name = await wentOnAlone(place);
  await place.write(name, DAMAGE);
  const { backend, own, count } = await started({ place, lost: 'it is away' });
  await count('desk');
  await backend.handBack(() => own.store.forgetAll());
  await expect
    .poll(async () => (await place.names()).filter((one) => one.startsWith(name)))
    .toEqual([expect.stringMatching(/\.json\.damaged-\d+$/)]);
  await count('desk');
  const names = (await place.names()).filter((one) => one.startsWith(name)).toSorted();
  expect(names).toEqual([name, expect.stringMatching(/damaged/)]);
  expect(await textOf(place, names[1] ?? '')).toBe(DAMAGE);
});

test('a file that Redis makes good stops nobody', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-mirror-'));
  try {
    const place = createDiskDirectory(path.join(folder, 'instance-0'));
    const first = await started({ place });
    await first.count('desk');
    await first.end();
    const name = (await place.names()).find((one) => one.startsWith('account-')) ?? '';
    await place.write(name, DAMAGE);
    const { backend, events, end } = await started({ place });
    expect(backend.isAlone).toBe(false);
    expect(events).toMatchObject([{ kind: 'mirror', state: 'unread', name, isStopped: false }]);
    await end();
    const names = await readdir(path.join(folder, 'instance-0'));
    expect(names.filter((one) => one.startsWith(`${name}.damaged-`))).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each([
  ['damaged', (place: Disk) => place.write('process.json', DAMAGE)],
  ['missing', (place: Disk) => place.remove('process.json')],
])('a process file that is %s stops nobody: there is a copy', async (_, damage) => {
  const place = createMemoryDisk();
  await wentOnAlone(place);
  await damage(place);
  const { backend, events } = await started({ place, lost: 'it is away' });
  expect([backend.isAlone, backend.watchesOnly]).toEqual([true, undefined]);
  expect([backend.isKnown('desk'), backend.isKnown('other')]).toEqual([true, true]);
  expect(events).toMatchObject([{ kind: 'mirror', state: 'unread', name: 'process.json', isStopped: false }]);
});

test('without a readable process file all files are kept as they are, beside new ones', async () => {
  const place = createMemoryDisk();
  await wentOnAlone(place);
  for (const name of ['process.json', 'process-copy.json']) await place.write(name, DAMAGE);
  const before = await place.names();
  const { backend, end } = await started({ place, lost: 'it is away' });
  expect(backend.watchesOnly).toContain('process.json cannot be read');
  await end();
  const kept = (await place.names()).filter((name) => name.includes('.damaged-'));
  expect(kept.map((name) => name.replace(/\.damaged-\d+$/, '')).toSorted()).toEqual(before.toSorted());
});
