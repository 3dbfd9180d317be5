import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { AuditHeads } from '../../src/app/audit-heads.ts';
import type { ChainHead } from '../../src/core/audit/audit-record.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { closeAfterTest } from '../contract/support/world.ts';

const headAt = (seq: number): ChainHead => ({ seq, hash: seq.toString(16).padStart(64, '0') });

async function place(accounts: readonly string[], file = 'heads.jsonl') {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-heads-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const headsFile = path.join(folder, file);
  const heads = new Map(accounts.map((id) => [id, headAt(9)]));
  const events: DaemonEvent[] = [];
  const scene = {
    audit: {
      head: async (id: string) => (id === '@operators' ? undefined : heads.get(id)),
    },
    telemetry: { emit: (event: DaemonEvent) => void events.push(event) },
    clock: systemClock,
    config: () => ({ accounts: accounts.map((id) => ({ id })), audit: { headsFile } }) as never,
  };
  const cuts = () => events.flatMap((event) => (event.kind === 'auditCut' ? [event.words] : []));
  return { headsFile, heads, events, scene, cuts };
}

const acted = (accountId: string) =>
  ({
    kind: 'step',
    accountId,
    market: 'BTC_PERP',
    step: 'place',
    outcome: 'accepted',
    durationMs: 1,
  }) as const;

test('records that are removed while the daemon runs are told with the next order, before that is noted', async () => {
  const { headsFile, heads, scene, cuts } = await place(['a', 'b']);
  const noted = new AuditHeads();
  await noted.start(scene, true);
  heads.set('a', headAt(7));
  noted.emit(acted('a'));
  await noted.noteActed();
  expect(cuts()).toEqual([expect.stringContaining('a (noted up to 9, now up to 7)')]);
  expect((await readFile(headsFile, 'utf8')).trim().split('\n')).toHaveLength(3);
});

test('while Redis does not answer nothing is noted, and the comparison is made once it does', async () => {
  const { headsFile, heads, scene, cuts } = await place(['a']);
  await writeFile(headsFile, `{"account":"a","head":"12:${headAt(12).hash}"}\n`);
  const noted = new AuditHeads();
  const lost = { head: () => Promise.reject(new Error('Redis is lost')) };
  await expect(noted.start({ ...scene, audit: lost }, true)).rejects.toThrow('lost');
  noted.emit(acted('a'));
  await noted.noteActed();
  await noted.noteAll(false);
  expect((await readFile(headsFile, 'utf8')).trim().split('\n')).toHaveLength(1);
  await noted.start(scene, true);
  expect(cuts()).toEqual([expect.stringContaining('a (noted up to 12, now up to 9)')]);
  expect(heads.size).toBe(1);
});

test('what was found missing is told although Redis is lost on the way', async () => {
  const { headsFile, scene, cuts } = await place(['a', 'b']);
  await writeFile(headsFile, `{"account":"a","head":"12:${headAt(12).hash}"}\n`);
  const lost = {
    head: async (id: string) => (id === 'a' ? headAt(9) : Promise.reject(new Error('Redis is lost'))),
  };
  await expect(new AuditHeads().start({ ...scene, audit: lost }, true)).rejects.toThrow('lost');
  expect(cuts()).toHaveLength(1);
});

test('many trails that are gone at once are one notice', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `desk-${index}`);
  const { headsFile, heads, scene, cuts } = await place(ids);
  await writeFile(headsFile, ids.map((id) => `{"account":"${id}","head":"3:${headAt(3).hash}"}\n`).join(''));
  heads.clear();
  await new AuditHeads().start(scene, true);
  expect(cuts()).toHaveLength(1);
  expect(cuts()[0]).toContain('desk-4 (noted up to 3, now nothing) and 35 more');
});

test('a pipe as the file holds nothing up, and is told', async () => {
  const { headsFile, events, scene } = await place(['a'], 'pipe');
  await promisify(execFile)('mkfifo', [headsFile]);
  await new AuditHeads().start(scene, true);
  expect(events).toMatchObject([
    { kind: 'auditHead', unwritten: { message: expect.stringContaining('no regular file') } },
  ]);
});

test('a process that only acts notes after each order, and leaves the comparison to those that watch', async () => {
  const { headsFile, scene, cuts } = await place(['a']);
  await writeFile(headsFile, `{"account":"a","head":"12:${headAt(12).hash}"}\n`);
  const noted = new AuditHeads();
  await noted.start(scene, false);
  expect(cuts()).toEqual([]);
  noted.emit(acted('a'));
  await noted.noteActed();
  expect((await readFile(headsFile, 'utf8')).trim().split('\n')).toHaveLength(2);
});
