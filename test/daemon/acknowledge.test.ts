import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';
import { inTurn, sliceOf } from '../support/slice.ts';
import { toldThenEscalated } from './config.ts';
import { drift, hasFilled, openScene, ours, polls, sizeOf } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

const plays = inTurn(['two people', 'a shell'], 2, 'ways to acknowledge');

/** Notices and the exchange's ledger, before and after somebody acknowledges. */

interface Told {
  readonly kind: string;
  readonly account: string;
  readonly rule: string;
  readonly stage: number;
}

const RULES = `  - id: halve
    on: position
    severity: critical
    when: { amount: { above: 0.01 } }
    do: [{ notify: {} }, { reduce: { to: 50%, slippage: 1% } }]
    escalate:
      - after: ESCALATE
        do: [{ notify: {} }]
`;

async function openWorld(escalateAfter = '1h') {
  const [simulator, receiver] = [await openScene(), await startReceiver()];
  closeAfterTest(() => receiver.close());
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['halve'] } },
    rules: RULES.replace('ESCALATE', escalateAfter),
    more: `notify: { remindEvery: 1s }\nchannels:\n  hook: { type: webhook, url: ${receiver.url}/hook }\n`,
  });
  const told = (): readonly Told[] => receiver.received.map(({ json }) => json as unknown as Told);
  const until = async (holds: (told: readonly Told[]) => boolean, what: string) =>
    await eventually(
      () => holds(told()),
      what,
      () => [told().map(({ kind, stage }) => [kind, stage]), troubles(world.events)],
    );
  return { simulator, world, told, until };
}

const reminders = (told: readonly Told[]) => told.filter(({ kind }) => kind === 'reminder').length;

/** Waits for longer than several reminders take. */
async function quiet(world: DaemonWorld, told: () => readonly Told[]): Promise<readonly Told[]> {
  await polls(world, 'long', 2);
  const before = told().length;
  await delay(2_000);
  await polls(world, 'long', 2);
  return told().slice(before);
}

test.runIf(plays('two people'))(
  'two people at once count as one, the rule keeps acting, and a restart changes nothing',
  async () => {
    const { simulator, world, told, until } = await openWorld();
    const daemon = await world.start();
    await until((all) => reminders(all) > 0, 'a reminder');
    const cli = (...args: readonly string[]) =>
      runCommandLine([...args, '--config', world.configFile], { env: world.env });
    expect(await cli('ack', '--rule', 'half')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Rules with something open: halve.'),
    });
    const acknowledge = (author: string) => cli('ack', '--account', 'long', '--author', author);
    const done = await Promise.all(['ann', 'bob'].map(acknowledge));
    expect(done.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const [control, ...others] = await daemon.state.controls.list();
    expect(others).toEqual([]);
    expect(control).toMatchObject({ kind: 'acknowledgement', accountId: 'long', ruleId: 'halve', stage: 0 });
    expect(control?.author).toMatch(/^(ann|bob) \(this machine\)$/);
    expect(await quiet(world, told)).toEqual([]);
    // The rule goes on: its stop stands, and fills when the price falls.
    expect(ours(simulator, 'long').length).toBeGreaterThan(0);
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.3), 'the reduction', world);
    expect(sizeOf(simulator, 'long')).toBeGreaterThan(0);
    // After a restart another process still has the acknowledgement, and names its author.
    await daemon.stop('restart', 30_000);
    const next = await world.start();
    expect(await quiet(world, told)).toEqual([]);
    expect((await acknowledge('cem')).stdout).toContain(`by ${control?.author} at `);
    const trail = await next.state.audit.tail('long', 500);
    const records = trail.filter(({ record }) => record.content.kind === 'control');
    expect(records.map(({ record }) => record.content)).toMatchObject([
      { change: 'put', control: { id: control?.id } },
    ]);
  },
);

test.runIf(plays('a shell'))(
  'acknowledge at a shell: listed, obeyed by the daemon, and ended when it gets worse or is lifted',
  async () => {
    const { world, told, until } = await openWorld('6s');
    const daemon = await world.start();
    const cli = (...args: readonly string[]) =>
      runCommandLine([...args, '--config', world.configFile], { env: world.env });
    await until((all) => all.length > 0, 'a notice');
    const listed = await cli('acknowledge');
    expect(listed.stdout).toMatch(/long +halve +position:\d+ +critical .* no/);
    const done = await cli('ack', '--account', 'long', '--author', 'ann', '--reason', 'looking');
    expect(done.stdout).toMatch(
      /^Acknowledged: rule halve on position:\d+ of account long, until it is over or gets worse\.\n$/,
    );
    const again = await cli('ack', '--rule', 'halve', '--author', 'bob');
    expect(again.stdout).toMatch(/^Already acknowledged: .* by ann \(this machine\) at /);
    expect((await cli('status')).stdout).toContain(', acknowledged');
    expect((await cli('status', '--account', 'long')).stdout).toContain(
      'acknowledged by ann (this machine) at',
    );
    // The next stage is notified, and reminders come again: nobody has acknowledged that stage.
    await until((all) => all.some(({ kind, stage }) => kind === 'firing' && stage === 1), 'the next stage');
    const from = told().length;
    await until((all) => reminders(all.slice(from)) > 0, 'a reminder');
    await cli('ack', '--all', '--author', 'ann');
    expect(await quiet(world, told)).toEqual([]);
    expect((await cli('ack', '--all', '--lift', '--author', 'ann')).stdout).toMatch(
      /^Lifted: acknowledgement of rule halve/,
    );
    const lifted = told().length;
    await until((all) => reminders(all.slice(lifted)) > 0, 'a reminder after it was lifted');
    expect(await daemon.state.controls.list()).toEqual([]);
  },
);

test.each(sliceOf([true, false], 2, 'acknowledged or not'))(
  'an unacknowledged notice is escalated to the pager once, and so is its end (acknowledged: %s)',
  async (isSeenTo) => {
    const [simulator, receiver] = [await openScene(), await startReceiver()];
    closeAfterTest(() => receiver.close());
    const world = await openDaemonWorld(simulator, toldThenEscalated(receiver.url, '4s'));
    await world.start();
    const told = (channel: string) =>
      receiver.received
        .filter(({ path }) => path === `/${channel}`)
        .map(({ json }) => json as unknown as Told & { message: string });
    const kinds = (channel: string): readonly string[] => told(channel).map(({ kind }) => kind);
    await polls(world, 'long', 1);
    simulator.setPrice('BTC_PERP', '59000');
    await eventually(() => kinds('chat').length > 0, 'the first message');
    if (isSeenTo) {
      const args = ['acknowledge', '--account', 'long', '--reason', 'on it', '--config', world.configFile];
      expect((await runCommandLine(args, { env: world.env })).exitCode).toBe(0);
    } else {
      await eventually(
        () => kinds('pager').length > 0,
        'the pager',
        () => [receiver.received.map(({ raw }) => raw), troubles(world.events)],
      );
    }
    // Longer than the escalation takes.
    await delay(5_000);
    simulator.setPrice('BTC_PERP', '61000');
    await eventually(() => kinds('chat').includes('resolved'), 'the end');
    if (!isSeenTo) await eventually(() => kinds('pager').includes('resolved'), 'the end at the pager');
    expect(kinds('chat')).toEqual(['firing', 'resolved']);
    expect(kinds('pager')).toEqual(isSeenTo ? [] : ['firing', 'resolved']);
    if (!isSeenTo) expect(JSON.stringify(told('pager')[0])).toContain('Nobody has acknowledged it for 4 s.');
  },
);
