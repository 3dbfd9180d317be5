import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { runCli } from '../../src/cli/run.ts';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { bucketKeys } from '../../src/state/account/keys.ts';
import { polls } from '../daemon/scene.ts';
import { eventually } from '../daemon/world.ts';
import { lane } from '../state/support/place.ts';
import { ctrlC } from '../support/cli.ts';
import {
  expectOk,
  json,
  jsonLines,
  type OperatorWorld,
  openAnsweringWorld,
  openOperatorWorld,
  pauseIn,
  stored,
} from './operator.ts';

const WHY = ['--reason', 'test', '--author', 'ann'];
const LONG = ['--account', 'long'];

/** Records in the chain of `long`, after the one that begins its epoch. */
async function fill(world: OperatorWorld, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { load } = await world.state.store.read('long');
    if (load.kind === 'refused') throw new Error(load.problem.message);
    const about = `test${index}`;
    const audit = [
      { kind: 'note', atMs: 1_000 * index, about, words: `note ${index}`, attachments: { text: `${index}` } },
    ] as const;
    await world.state.store.commit([{ base: load.account, audit }]);
  }
}

/** Runs a daemon until a rule has fired, so that the trail has a decision. */
async function openDecided(): Promise<OperatorWorld> {
  const world = await openOperatorWorld({
    accounts: { long: { rules: ['near'], more: '    mode: observe' } },
    rules: `  - id: near
    on: position
    when: { liquidationDistance: { below: 90% } }
    do: [{ notify: { channels: [log] } }]
`,
  });
  const daemon = await world.start();
  await polls(world, 'long');
  await daemon.stop('enough', 30_000);
  return world;
}

function fileIn(world: OperatorWorld, name: string): string {
  return path.join(path.dirname(world.configFile), name);
}

test('tail prints the newest records in words or JSON, show one in full', async () => {
  const world = await openOperatorWorld();
  expect((await world.cli(['audit', 'tail', ...LONG])).stdout).toBe('No records.\n');
  await pauseIn(world, 'long');
  await fill(world, 3);
  const tail = await world.cli(['audit', 'tail', ...LONG, '-n', '4']);
  expect(tail.stdout).toMatch(
    /^2 \S+Z pause put for account long by ann: test\n3 \S+ test0: note 0\n4 .*\n5 .*note 2\n$/,
  );
  const [first, ...rest] = jsonLines(await world.cli(['audit', 'tail', ...LONG, '--json']));
  expect(first).toMatchObject({ seq: 1, accountId: 'long', content: { kind: 'epochStarted' } });
  expect(first?.['hash']).toMatch(/^[0-9a-f]{64}$/);
  expect(rest).toHaveLength(4);
  expect(json(await world.cli(['audit', 'show', '3', ...LONG, '--json']))).toMatchObject({
    seq: 3,
    content: { about: 'test0' },
  });
  expect((await world.cli(['audit', 'show', '3', ...LONG])).stdout).toMatch(
    /^3 .*note 0\n\{\n {2}"number": 3,\n {2}"hash"/,
  );
  const none = await world.cli(['audit', 'show', '99', ...LONG]);
  expect(none).toMatchObject({ exitCode: EXIT.failed });
  expect(none.stderr).toMatch(/has no audit record 99\. It may have been pruned/);
  expect((await world.cli(['audit', 'show', '3', '--inputs', ...LONG])).stderr).toMatch(/is no decision/);
});

test('show --inputs prints everything that a decision was computed from', async () => {
  const world = await openDecided();
  const records = jsonLines(await world.cli(['audit', 'tail', ...LONG, '--json']));
  const decision = records.find(({ content }) => (content as { kind: string }).kind === 'decision');
  const shown = json(
    await world.cli(['audit', 'show', String(decision?.['seq']), '--inputs', ...LONG, '--json']),
  );
  expect(shown['inputs']).toMatchObject({
    snapshot: { accountId: 'long', sources: { positions: { kind: 'read' } } },
    rules: { rules: [{ id: 'near' }] },
  });
  expect((await world.cli(['audit', 'tail', ...LONG])).stdout).toMatch(
    /decision: rule near for position:\d+: inactive -> firing/,
  );
});

test('verify recomputes every decision, and names the record that its inputs do not give', async () => {
  const world = await openDecided();
  const sound = await world.cli(['audit', 'verify', ...LONG]);
  expect(sound).toMatchObject({ exitCode: EXIT.ok });
  expect(sound.stdout).toMatch(/\nlong: \d+ decisions? judged once more from their inputs: as recorded\n$/);
  const exported = fileIn(world, 'sound.audit');
  expectOk(await world.cli(['audit', 'export', ...LONG, '--out', exported]));
  expect((await world.cli(['audit', 'verify', '--file', exported])).stdout).toMatch(/: as recorded\n$/);

  const { state } = world;
  const chained = (await state.audit.tail('long', 100)).find(
    ({ record }) => record.content.kind === 'decision',
  );
  if (chained?.record.content.kind !== 'decision') throw new Error('no decision was recorded');
  const inputs = await state.audit.inputs(chained.record);
  const { load } = await state.store.read('long');
  if (load.kind !== 'loaded' || inputs === undefined) throw new Error('the account cannot be read');
  // Written to the chain by somebody who has the key: this rule never fired.
  const forged = { ...chained.record.content, transitions: [], inputs };
  await state.store.commit([{ base: load.account, audit: [forged] }]);
  const [newest] = await state.audit.tail('long', 1);
  const forgedIs = `record ${newest?.number}: its transitions are not what its inputs give`;
  const found = await world.cli(['audit', 'verify', ...LONG]);
  expect(found).toMatchObject({ exitCode: EXIT.failed });
  expect(found.stdout).toContain('1 NOT AS RECORDED');
  expect(found.stdout).toContain(forgedIs);
  expect(json(await world.cli(['audit', 'verify', ...LONG, '--json']))).toMatchObject({
    kind: 'intact',
    recomputed: {
      differing: [{ record: newest?.number, found: { kind: 'different', part: 'transitions' } }],
    },
  });
  expect((await world.cli(['audit', 'verify', ...LONG, '--decisions', '0'])).exitCode).toBe(EXIT.ok);
  // Record numbers of a chain are not those that `audit show` takes.
  const doubtful = fileIn(world, 'forged.audit');
  expectOk(await world.cli(['audit', 'export', ...LONG, '--out', doubtful]));
  const ofFile = (await world.cli(['audit', 'verify', '--file', doubtful])).stdout;
  expect(ofFile).toMatch(/record \d+ of its chain: its transitions are not what its inputs give$/m);
  expect(ofFile).not.toContain('audit show');
  // In a longer trail the last decision is always among those recomputed.
  const last = await world.cli(['audit', 'verify', ...LONG, '--decisions', '1']);
  expect(last.stdout).toContain(forgedIs);
});

test('tail prints, below an order that observe mode held back, its cost or savings so far', async () => {
  const world = await openOperatorWorld();
  const { load } = await world.state.store.read('long');
  if (load.kind === 'refused') throw new Error(load.problem.message);
  const d = (text: string) => text as DecimalString;
  const event = {
    kind: 'wouldPlace',
    atMs: 1,
    accountId: 'long',
    market: 'BTC_PERP',
    positionId: '42',
    ruleId: 'near',
    reason: 'observeMode',
    words: 'would have been sent; the rule is in observe mode',
    alarm: false,
    order: {
      market: 'BTC_PERP',
      side: 'sell',
      amount: d('0.5'),
      activationPrice: d('59940'),
      price: d('59640'),
      clientOrderId: 'bw1.x',
      positionSide: 'BOTH',
    },
  } as const;
  const history = [{ subject: 'position:42', values: { markPrice: 59_840 } }];
  await world.state.store.commit([{ base: load.account, audit: [{ kind: 'action', event }], history }]);
  const { stdout } = await world.cli(['audit', 'tail', ...LONG]);
  expect(stdout).toMatch(
    /wouldPlace BTC_PERP \(observeMode\): sell 0\.5 BTC_PERP once the price is 59940 or less/,
  );
  expect(stdout).toMatch(
    /\n {2}would have closed 0\.5 BTC at about 59940; the mark is 59840 now: that would have saved 50\n$/,
  );
});

test('tail --follow prints each new record once, until Ctrl-C', async () => {
  const world = await openOperatorWorld();
  await fill(world, 2);
  const stop = new AbortController();
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const seqs: number[] = [];
  createInterface({ input: stdout }).on('line', (line) => {
    seqs.push((JSON.parse(line) as { seq: number }).seq);
    if (seqs.at(-1) === 6) stop.abort(ctrlC());
  });
  const args = ['audit', 'tail', ...LONG, '--follow', '--json', '-n', '1', '--config', world.configFile];
  const isTty = { stdin: false, stdout: false, stderr: false };
  const following = runCli(args, { stdin, stdout, stderr, isTty, env: world.env, signal: stop.signal });
  await eventually(() => seqs.length > 0, 'the newest record');
  for (const seq of [4, 5, 6]) {
    await fill(world, 1);
    await eventually(() => seqs.at(-1) === seq, `record ${seq}`);
  }
  expect(await following).toBe(EXIT.interrupted);
  expect(seqs).toEqual([3, 4, 5, 6]);
  stdout.destroy();
});

test('verify passes whole chains, and names the first record that was changed', async () => {
  const world = await openOperatorWorld();
  await pauseIn(world, null);
  await fill(world, 5);
  const intact = await world.cli(['audit', 'verify', '--json']);
  expectOk(intact);
  expect(jsonLines(intact)).toMatchObject([
    { of: 'long', kind: 'intact', lastSeq: 6 },
    { of: 'hedged', kind: 'intact', lastSeq: 0 },
    { of: OPERATOR_CHAIN, kind: 'intact', lastSeq: 2 },
  ]);
  const redis = new Redis(world.redisUrl);
  const key = bucketKeys(world.prefix, bucketOf('long')).audit('long');
  const entries = await redis.xrange(key, '-', '+');
  const [id = '', fields = []] = entries[3] ?? [];
  await redis.xdel(key, id);
  redis.disconnect();
  expect(fields.length).toBeGreaterThan(0);
  const broken = await world.cli(['audit', 'verify', ...LONG, '--json']);
  expect(broken.exitCode).toBe(EXIT.failed);
  expect(json(broken)).toMatchObject({ of: 'long', kind: 'broken', seq: 4, why: 'gap' });
  expect((await world.cli(['audit', 'verify', ...LONG])).stdout).toMatch(
    /^long: BROKEN at record 4 of its chain \(gap\): it is missing\n/,
  );
});

test('an export verifies by itself; any changed, dropped or swapped line is found', async () => {
  const world = await openOperatorWorld();
  await fill(world, 5);
  const out = fileIn(world, 'export.txt');
  const run = await world.cli(['audit', 'export', ...LONG, '--out', out, '--json']);
  expect(json(run)).toMatchObject({ accountId: 'long', records: 6, firstNumber: 1, lastNumber: 6 });
  expect((await stat(out)).mode & 0o077).toBe(0);
  const check = async (lines: readonly string[]) => {
    const file = fileIn(world, 'changed.txt');
    await writeFile(file, lines.map((line) => `${line}\n`).join(''));
    return await world.cli(['audit', 'verify', '--file', file, '--json']);
  };
  const lines = (await readFile(out, 'utf8')).trimEnd().split('\n');
  expect(lines).toHaveLength(11);
  expect(json(await check(lines))).toMatchObject({ kind: 'intact', firstSeq: 1, lastSeq: 6 });
  const changed = lines.map((line, index) => (index === 2 ? line.replace('note 1', 'note 7') : line));
  expect(json(await check(changed))).toMatchObject({ kind: 'broken', seq: 3, why: 'hash' });
  const dropped = await check(lines.filter((_, index) => index !== 2));
  expect(dropped.exitCode).toBe(EXIT.failed);
  expect(json(dropped)).toMatchObject({ kind: 'broken', seq: 3, why: 'gap' });
  expect(json(await check(lines.slice(0, -1)))).toMatchObject({ kind: 'broken', why: 'attachment' });
  expect(json(await check([...lines, 'x']))).toMatchObject({ kind: 'broken', why: 'form' });
  // A part goes to standard output with the same lines.
  const part = await world.cli(['audit', 'export', ...LONG, '--from', '2', '--to', '3']);
  expect(part.stdout.split('\n').slice(0, 2)).toEqual(lines.slice(1, 3));
  expect((await world.cli(['audit', 'export', ...LONG, '--out', out])).stderr).toMatch(
    /is there already; nothing was written/,
  );
  expect(await readFile(out, 'utf8')).toBe(lines.map((line) => `${line}\n`).join(''));
});

test('`verify --file` looks for --head in the file, and refuses --account', async () => {
  const world = await openOperatorWorld();
  await fill(world, 3);
  const out = fileIn(world, 'export.txt');
  const exported = json(await world.cli(['audit', 'export', ...LONG, '--from', '2', '--out', out, '--json']));
  const hash = String(exported['headHash']);
  const verify = (...args: string[]) => world.cli(['audit', 'verify', '--file', out, ...args]);
  expectOk(await verify('--head', `4:${hash}`));
  const another = await verify('--head', `4:${'0'.repeat(64)}`);
  expect(another.exitCode).toBe(EXIT.failed);
  expect(another.stdout).toMatch(
    /BROKEN at record 4 of its chain \(head\): it is not the one that was written down/,
  );
  for (const seq of [1, 5]) {
    const outside = await verify('--head', `${seq}:${hash}`);
    expect(outside.exitCode).toBe(EXIT.failed);
    expect(outside.stdout).toContain('it was written down, and the file has 2 to 4 of its chain');
  }
  const two = await verify('--file', out, '--head', `4:${hash}`);
  expect([two.exitCode, two.stderr]).toEqual([EXIT.usage, expect.stringContaining('--head is of one file')]);
  const both = await verify(...LONG);
  expect([both.exitCode, both.stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining('--account is of stored chains, --file of exports'),
  ]);
});

test('`export --from 5 --to 2` is refused', async () => {
  const world = await openOperatorWorld();
  const run = await world.cli(['audit', 'export', ...LONG, '--from', '5', '--to', '2']);
  expect([run.exitCode, run.stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining('--to: expected a record not before --from.'),
  ]);
});

test('prune exports what it removes, and leaves a checkpoint with which the chain verifies', async () => {
  const world = await openOperatorWorld();
  await fill(world, 9);
  const out = fileIn(world, 'pruned.txt');
  const args = ['audit', 'prune', ...LONG, '--keep', '4', '--out', out, ...WHY];
  // It is the daemon that takes them away, and the chain of a daemon that does not run does not grow.
  const nobody = await world.cli([...args, '--yes']);
  expect([nobody.exitCode, nobody.stderr]).toEqual([
    EXIT.unreachable,
    expect.stringMatching(/^breakwater: nothing was pruned: no daemon with this config runs/),
  ]);
  await expect(stat(out)).rejects.toThrow('ENOENT');
  await world.start({ roles: ['web'], ordinal: 1 });
  expect((await world.cli(args)).exitCode).toBe(EXIT.usage);
  expect((await world.cli(args, { tty: true, input: 'n\n' })).stderr).toMatch(/nothing was pruned/);
  expect(await world.state.audit.tail('long', 100)).toHaveLength(10);
  const run = await world.cli([...args, '--yes', '--json']);
  expect(json(run)).toMatchObject({ pruned: 6, lastNumber: 6, file: out });
  const rest = await world.state.audit.tail('long', 100);
  expect(rest.map(({ record }) => record.seq)).toEqual([7, 8, 9, 10, 11]);
  expect(rest.at(-1)?.record.content).toMatchObject({
    kind: 'checkpoint',
    lastSeq: 6,
    exportSha256: json(run)['exportSha256'],
    reason: 'ann (this machine): test',
  });
  const digest = createHash('sha256')
    .update(await readFile(out))
    .digest('hex');
  expect(digest).toBe(json(run)['exportSha256']);
  const verdict = await world.cli(['audit', 'verify', ...LONG]);
  expect(verdict.stdout).toMatch(
    /^long: intact, records 7 to 11 of its chain, pruned up to 6 by checkpoint, ends with/,
  );
  expect((await world.cli(['audit', 'verify', '--file', out])).stdout).toMatch(/intact, records 1 to 6/);
  const nothing = await world.cli([
    ...args.map((arg) => (arg === out ? fileIn(world, 'none.txt') : arg)),
    '--older-than',
    '9w',
    '--yes',
  ]);
  expect(nothing.stdout).toBe('There was nothing to prune.\n');
  await expect(stat(fileIn(world, 'none.txt'))).rejects.toThrow('ENOENT');
  // If the file cannot be written, nothing is pruned.
  const failed = await world.cli(['audit', 'prune', ...LONG, '--keep', '1', '--out', out, ...WHY, '--yes']);
  expect(failed).toMatchObject({ exitCode: EXIT.failed });
  expect(await world.state.audit.tail('long', 100)).toHaveLength(5);
});

test('a daemon takes away no records but those whose every line was written out', async () => {
  const world = await openOperatorWorld({ web: '{ port: 0, controlToken: { env: CONTROL } }' });
  await fill(world, 9);
  const CONTROL = 'a-control-token-of-this-test';
  const daemon = await world.start({ roles: ['web'], ordinal: 2, env: { ...world.env, CONTROL } });
  const asked = async (lastNumber: number, exportSha256: string) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${CONTROL}` },
      body: JSON.stringify({ lastNumber, exportSha256, author: 'eve', reason: 'traces' }),
    };
    return (await fetch(`${daemon.webUrl()}/api/v1/accounts/long/audit/prunings`, init)).status;
  };
  const out = fileIn(world, 'some.audit');
  const range = ['--from', '1', '--to', '6'];
  expectOk(await world.cli(['audit', 'export', ...LONG, ...range, '--out', out]));
  const sha256 = createHash('sha256')
    .update(await readFile(out))
    .digest('hex');
  expect([await asked(5, sha256), await asked(7, sha256), await asked(99, sha256)]).toEqual([409, 409, 409]);
  expect(await asked(6, '0'.repeat(64))).toBe(409);
  expect(await world.state.audit.tail('long', 100)).toHaveLength(10);
  expect(await asked(6, sha256)).toBe(201);
  expect(await world.state.audit.tail('long', 100)).toHaveLength(5);
});

test('`audit` tells numbers of all records from numbers within one chain', async () => {
  const world = await openAnsweringWorld();
  const { state } = world;
  await fill(world, 1);
  const { account: base } = await stored(state, 'long');
  const event = {
    kind: 'doubt',
    accountId: 'long',
    market: 'BTC_PERP',
    atMs: 1,
    reason: 'test',
    words: 'of a lane',
    alarm: false,
  } as const;
  const lanes = new Map([['BTC_PERP', lane(base, 'BTC_PERP', 1)]]);
  await state.store.commit([{ base, lanes, audit: [{ kind: 'action', event }] }]);
  const prune = [
    'audit',
    'prune',
    ...LONG,
    '--keep',
    '0',
    '--out',
    fileIn(world, 'all.txt'),
    ...WHY,
    '--yes',
  ];
  expect((await world.cli(prune)).stdout).toMatch(
    /^Pruned 3 records of all chains of long, up to number 3, into /,
  );
  expect((await world.cli(['audit', 'tail', ...LONG])).stdout).toContain(
    'checkpoint: everything up to 2 of its chain was taken away',
  );
  const verdict = await world.cli(['audit', 'verify', ...LONG]);
  expect(verdict.stdout).toMatch(/intact, records 3 to \d of its chain, pruned up to 2 by checkpoint/);
  // Not "BTC_PERP 0 to 1".
  expect(verdict.stdout).toContain('chains of lanes: BTC_PERP none left, ends with 1');
});
