import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import type { AuditDraft } from '../../src/core/audit/audit-record.ts';
import type { Digest } from '../../src/core/digest/digest.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import { emptyAccountState } from '../../src/core/rules/account-state.ts';
import { bucketKeys } from '../../src/state/account/keys.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { event, hour, transition } from '../core/digest/fixtures.ts';
import { d, list, position, read, snapshot } from '../core/rules/fixtures.ts';
import { expectOk, json, type OperatorWorld, openOperatorWorld } from './operator.ts';

const PERIOD = ['--from', '2026-01-30T08:00', '--to', '2026-01-31T08:00'];

async function record(world: OperatorWorld, accountId: string, audit: readonly AuditDraft[]): Promise<void> {
  const { load } = await world.state.store.read(accountId);
  if (load.kind === 'refused') throw new Error(load.problem.message);
  await world.state.store.commit([{ base: load.account, audit }]);
}

/** Fired at a distance of 4 %, by its recorded inputs. */
function decision(atMs: number): AuditDraft {
  const at = { wallMs: atMs, monotonicMs: 0, clockId: 'one' };
  const near = position({ liquidationPrice: d('86.4') });
  return {
    kind: 'decision',
    atMs,
    transitions: [transition({ atMs })],
    decisions: [],
    active: [],
    inputs: {
      snapshot: snapshot({ positions: read(list([near])) }, at),
      state: emptyAccountState('long'),
      now: at,
      options: {},
      rules: {},
    },
  };
}

test('digest sums up all accounts for a period, in words and JSON, and sends nothing', async () => {
  const world = await openOperatorWorld();
  await record(world, 'long', [
    decision(hour(2)),
    {
      kind: 'action',
      event: event({ kind: 'refused', atMs: hour(3), reason: 'paused', words: 'actions are paused' }),
    },
    {
      kind: 'action',
      event: event({ kind: 'refused', atMs: hour(25), reason: 'paused', words: 'actions are paused' }),
    },
  ]);
  const run = await world.cli(['digest', ...PERIOD]);
  expectOk(run);
  expect(run.stdout.split('\n').slice(0, -2)).toEqual([
    '2026-01-30 08:00 to 2026-01-31 08:00 UTC: 1 of 2 accounts came near, rules fired once, nothing was closed, 1 refused or failed',
    'Nearest calls:',
    '- long: BTC_PERP was 4 % from liquidation at 2026-01-30 10:00',
    'Refused or failed:',
    '- long: near in BTC_PERP, held back: actions are paused',
    'Rules that fired:',
    '- long: near (critical) once, fires still: BTC_PERP',
    'Audit chains ended with (for audit verify --head):',
    expect.stringMatching(/^- long \d+:[0-9a-f]{64}$/),
  ]);
  const found = json(await world.cli(['digest', ...PERIOD, '--json']));
  expect(found).toMatchObject({
    event: 'digest',
    fromMs: hour(0),
    toMs: hour(24),
    accounts: [
      { accountId: 'long', cameNear: true, rules: [{ ruleId: 'near', fired: 1 }], recordsFromMs: null },
      { accountId: 'hedged', nearest: null, rules: [], troubles: [] },
    ],
  });
});

test('digest reads a trail of many pages, and says where its beginning was pruned', async () => {
  const world = await openOperatorWorld();
  const refused = (index: number): AuditDraft => ({
    kind: 'action',
    event: event({ kind: 'refused', atMs: hour(1), reason: 'paused', market: `M${index % 50}_PERP` }),
  });
  for (let count = 0; count < 500; count += 100)
    await record(
      world,
      'long',
      Array.from({ length: 100 }, (_, index) => refused(index)),
    );
  const all = async (): Promise<Digest> =>
    json(await world.cli(['digest', ...PERIOD, '--json'])) as unknown as Digest;
  const { troubles = [], recordsFromMs } = (await all()).accounts[0] ?? {};
  expect(troubles.map(({ times }) => times)).toEqual(Array.from({ length: 50 }, () => 10));
  expect(recordsFromMs).toBeNull();
  // A message has room for some accounts; `--all` prints every one.
  const shown = async (...more: readonly string[]) =>
    (await world.cli(['digest', ...PERIOD, ...more])).stdout
      .split('\n')
      .filter((line) => line.startsWith('- long:'));
  expect((await shown()).length).toBeLessThan(50);
  expect(await shown('--all')).toHaveLength(50);
  await world.state.audit.prune('long', {
    keepRecords: 100,
    reason: 'test',
    atMs: hour(30),
    exporter: { write: async () => {}, end: async () => {} },
  });
  const pruned = (await all()).accounts[0];
  expect(pruned?.recordsFromMs).toBeGreaterThan(hour(0));
  const kept = (pruned?.troubles ?? []).reduce((sum, { times }) => sum + times, 0);
  expect(kept).toBeLessThanOrEqual(100);
  expect(kept).toBeGreaterThan(50);
});

test('the nearest call is found in the first of many samples; those outside the period do not count', async () => {
  const world = await openOperatorWorld();
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: 1 });
  closeAfterTest(async () => redis.disconnect());
  const key = bucketKeys(world.prefix, bucketOf('long')).history('long');
  const sample = async (atMs: number, distance: number) => {
    const values = { market: 'BTC_PERP', liquidationDistance: distance };
    await redis.xadd(key, `${atMs}-0`, 'position:1', JSON.stringify(values));
  };
  await sample(hour(0) - 1, 0.01);
  await sample(hour(0), 0.05);
  for (let index = 1; index < 450; index += 1) await sample(hour(0) + index * 10_000, 0.3);
  await sample(hour(24), 0.01);
  const { accounts } = json(await world.cli(['digest', ...PERIOD, '--json'])) as unknown as Digest;
  expect(accounts[0]?.nearest).toMatchObject({ name: 'BTC_PERP', distance: 0.05, atMs: hour(0) });
});

test("foreign data in one account's trail does not hide the others", async () => {
  const world = await openOperatorWorld();
  await record(world, 'long', [{ kind: 'action', event: { kind: 'refused', atMs: hour(2) } } as never]);
  await record(world, 'hedged', [decision(hour(2))]);
  const { stdout } = await world.cli(['digest', ...PERIOD]);
  expect(stdout).toContain('- hedged: BTC_PERP was 4 % from liquidation at 2026-01-30 10:00');
  expect(stdout).toMatch(/^- long: what is stored cannot be read \(.+\)$/m);
});

test('digest refuses invalid options', async () => {
  const world = await openOperatorWorld();
  const backwards = await world.cli(['digest', '--from', '2026-01-31', '--to', '2026-01-30']);
  expect(backwards.exitCode).toBe(EXIT.usage);
  expect(backwards.stderr).toContain('--to: expected a time after --from.');
  const unreadable = await world.cli(['digest', '--from', 'yesterday']);
  expect(unreadable.exitCode).toBe(EXIT.usage);
  expect(unreadable.stderr).toContain('--from yesterday');
});
