import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/core/ports/clock.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { openState } from '../cli/operator.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { configText } from './config.ts';
import { drift, hasFilled, openScene, polls } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

const RULES = `  - id: halve
    on: position
    when: { size: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['halve'] }, short: { rules: ['halve'], more: '    mode: observe\n' } };

interface TestClock extends Clock {
  /** Number of waits for an overdue digest, at a start or reload. */
  caughtUp(): number;
}

/** The clock of processes that are ahead, with a short wait before an overdue digest. */
function clockAhead(aheadMs: number): TestClock {
  let caughtUp = 0;
  return {
    nowMs: () => systemClock.nowMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs(),
    async sleep(delayMs, signal) {
      if (delayMs !== CATCH_UP_MS) return await systemClock.sleep(delayMs, signal);
      await systemClock.sleep(1_500, signal);
      caughtUp += 1;
    },
    caughtUp: () => caughtUp,
  };
}

/** As in digest-schedule.ts. */
const CATCH_UP_MS = 20_000;
/** Everything done by then happened before the minute at which the digest is due. */
const AHEAD_MS = 120_000;

const HEADS = 'Audit chains ended with';

const timeOf = (atMs: number): string => new Date(atMs).toISOString().slice(11, 16);

const sections = ({ url }: Receiver, at: string): string =>
  `channels: { own: { type: webhook, url: "${url}" } }\ndigest: { at: "${at}", channels: own }\n`;

const handed = ({ events }: DaemonWorld) =>
  events.filter((event) => event.kind === 'digested' && event.outcome === 'handed');

/** Waits until that many processes have tried to send an overdue digest. */
async function haveTried(clock: TestClock, count: number, world: DaemonWorld): Promise<void> {
  await eventually(
    () => clock.caughtUp() >= count,
    `${count} that have caught up`,
    () => troubles(world.events),
  );
  await polls(world, 'long', 3);
}

async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  closeAfterTest(() => receiver.close());
  return receiver;
}

/** Waits for the receipt too: a process that ends before it is stored delivers again. */
async function eventuallySent(world: DaemonWorld, count = 1): Promise<void> {
  const delivered = () =>
    world.events.filter((event) => event.kind === 'delivered' && event.message.kind === 'digest');
  await eventually(
    () => delivered().length >= count,
    'a digest',
    () => troubles(world.events),
  );
}

test("two instances send one digest of both accounts' actions, and the command line prints the same", async () => {
  const simulator = await openScene();
  const receiver = await openReceiver();
  const parts = { accounts: ACCOUNTS, rules: RULES };
  const world = await openDaemonWorld(simulator, parts);
  const acting = await world.start();
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 6);
  await polls(world, 'short', 3);
  await acting.stop('it is evening', 30_000);
  const ahead = clockAhead(AHEAD_MS);
  await world.write({ ...parts, more: sections(receiver, timeOf(ahead.nowMs())) });
  await Promise.all([world.start({ clock: ahead }), world.start({ clock: ahead, ordinal: 1 })]);
  await eventuallySent(world);
  await haveTried(ahead, 2, world);
  expect(handed(world)).toHaveLength(1);
  expect(receiver.received).toHaveLength(1);
  const [{ json }] = receiver.received as [Receiver['received'][number]];
  expect(json).toMatchObject({ kind: 'digest', severity: 'info', account: '', links: [], figures: null });
  expect(json['words']).toMatch(/rules fired twice, 1 order closed something$/);
  const lines = json['lines'] as readonly string[];
  const of = (title: string): readonly string[] => {
    const after = lines.slice(lines.indexOf(title) + 1);
    return after.slice(
      0,
      after.findIndex((line) => !line.startsWith('- ')),
    );
  };
  expect(of('Rules that fired:')).toEqual([
    '- long: halve (warning) once, fires still: BTC_PERP',
    '- short: halve (warning, observed only) once, fires still: BTC_PERP',
  ]);
  expect(of('Done:')).toEqual([
    expect.stringMatching(/^- long: halve in BTC_PERP: 1 order closed something: slippage .*, fees [^,]*$/),
    '- long: 1 order placed',
  ]);
  expect(of('Only observed; in enforce mode there would have been:')).toEqual([
    expect.stringMatching(
      /^- short: halve in BTC_PERP: 1 order; the largest: buy 0\.25 BTC_PERP once the price is /,
    ),
  ]);
  expect(lines.at(-1)).toMatch(/^Breakwater \d+\.\d+\.\d+, Node v\d+/);
  const period = ['--from', String(json['sinceMs']), '--to', String(json['atMs'])];
  // Chains go on meanwhile.
  const upToHeads = (all: readonly string[]) =>
    all.slice(
      0,
      all.findIndex((line) => line.startsWith(HEADS)),
    );
  const printed = async () => {
    const args = ['digest', ...period, '--config', world.configFile];
    const { stdout } = await runCommandLine(args, { env: world.env });
    return upToHeads(stdout.trimEnd().split('\n'));
  };
  // Repeated: a late read on a busy machine would be part of the output.
  await expect.poll(printed).toEqual([json['words'], ...upToHeads(lines)]);
  expect(receiver.received).toHaveLength(1);
});

test('an audit trail that somebody rewrote in Redis is whole in itself: the head in the digest finds it', async () => {
  const simulator = await openScene();
  const receiver = await openReceiver();
  const parts = { accounts: { long: { rules: ['halve'], more: '    mode: observe\n' } }, rules: RULES };
  const world = await openDaemonWorld(simulator, parts);
  const ahead = clockAhead(AHEAD_MS);
  const redis = { url: world.redisUrl, prefix: world.prefix };
  const text = configText(simulator, { ...parts, redis, more: sections(receiver, timeOf(ahead.nowMs())) });
  // Without a key nothing else reveals it.
  await world.write(text.replace(/^operators:.*\n/m, ''));
  const state = openState(world);
  const pause = async () => {
    const by = { author: 'ann', reason: 'lunch', expiresAtMs: null };
    await state.controls.put({ kind: 'pause', accountId: 'long', ...by });
  };
  await pause();
  const daemon = await world.start({ clock: ahead });
  await eventuallySent(world);
  const lines = receiver.received[0]?.json['lines'] as readonly string[];
  const [, seq = '', hash = ''] =
    lines.map((line) => /^- long (\d+):([0-9a-f]{64})$/.exec(line)).find((match) => match !== null) ??
    expect.fail(lines.join('\n'));
  await daemon.stop('its trail is rewritten', 30_000);
  const verify = (...more: readonly string[]) =>
    runCommandLine(['audit', 'verify', '--account', 'long', ...more, '--config', world.configFile], {
      env: world.env,
    });
  expect(await verify('--head', `${seq}:${hash}`)).toMatchObject({ exitCode: 0 });

  const client = new Redis(world.redisUrl);
  closeAfterTest(async () => client.disconnect());
  const keys = await client.keys(`${world.prefix}:*:long`);
  expect(await client.del(...keys)).toBeGreaterThanOrEqual(2);
  for (let count = 0; count < Number(seq); count += 1) await pause();
  expect(await verify()).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^long: intact/) as string,
  });
  const found = await verify('--head', `${seq}:${hash}`);
  expect(found).toMatchObject({ exitCode: 1 });
  expect(found.stdout).toContain('the chain was made anew');
});

test('a process that starts when the day has its digest sends none; another time of day gives another digest', async () => {
  const simulator = await openScene();
  const receiver = await openReceiver();
  const parts = { accounts: ACCOUNTS, rules: RULES };
  const clock = clockAhead(0);
  const now = clock.nowMs();
  const world = await openDaemonWorld(simulator, { ...parts, more: sections(receiver, timeOf(now)) });
  const first = await world.start({ clock });
  await eventuallySent(world);
  await first.stop('it is replaced', 30_000);
  const second = await world.start({ clock });
  await haveTried(clock, 2, world);
  expect(receiver.received).toHaveLength(1);
  await world.write({ ...parts, more: sections(receiver, timeOf(now - 60_000)) });
  await second.reload();
  await eventuallySent(world, 2);
  expect(receiver.received).toHaveLength(2);
  // Due more than an hour ago: tomorrow's digest covers it.
  await world.write({ ...parts, more: sections(receiver, timeOf(now - 7_200_000)) });
  await second.reload();
  await polls(world, 'long', 3);
  expect(receiver.received).toHaveLength(2);
});

test.runIf(hasRedisServer())(
  'without Redis the first instance sends it, and says which figures are missing',
  async () => {
    const server = await startRedisServer({ persistent: true });
    closeAfterTest(() => server.stop());
    const simulator = await openScene();
    const receiver = await openReceiver();
    const parts = { accounts: ACCOUNTS, rules: RULES };
    const world = await openDaemonWorld(simulator, parts, { redis: { url: server.url, prefix: 'bw' } });
    const clock = clockAhead(0);
    const daemons = [await world.start({ clock }), await world.start({ clock, ordinal: 1 })];
    await polls(world, 'long', 3);
    await server.kill();
    const alone = () => world.events.filter((event) => event.kind === 'standby' && event.state === 'alone');
    await eventually(
      () => alone().length === 2,
      'both alone',
      () => troubles(world.events),
    );
    const more = sections(receiver, timeOf(clock.nowMs()));
    await world.write({ ...parts, more, redis: { url: server.url, prefix: 'bw' } });
    await Promise.all(daemons.map((daemon) => daemon.reload()));
    await eventuallySent(world);
    await haveTried(clock, 2, world);
    expect(handed(world)).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]?.json['lines']).toContain(
      'Redis is lost: this is what one process has seen since then, and no more.',
    );
    await server.start();
  },
);
