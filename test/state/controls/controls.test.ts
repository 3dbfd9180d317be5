import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATOR_CHAIN } from '../../../src/core/audit/audit-record.ts';
import {
  type Acknowledgement,
  acknowledgementOf,
  type Control,
  controlsInForce,
  isSilenced,
  MAX_ACKNOWLEDGEMENTS,
  MAX_CONTROLS,
  MAX_INBOX_ORDERS,
} from '../../../src/core/controls/controls.ts';
import { BUCKETS, bucketOf } from '../../../src/core/ports/state-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { writeControls } from '../../../src/state/controls/controls-text.ts';
import { manualClock } from '../support/manual-clock.ts';
import {
  commit,
  commitOne,
  load,
  openPlaces,
  PLACE_KINDS,
  type Place,
  type Places,
} from '../support/place.ts';

const BY = { author: 'ann', reason: 'maintenance' };
const HOUR = 3_600_000;

test('the pause that ends last is in force, and no control holds beyond its expiry', () => {
  const pause = (accountId: string | null, expiresAtMs: number | null): Control => ({
    kind: 'pause',
    id: `${accountId}-${expiresAtMs}`,
    accountId,
    ...BY,
    atMs: 0,
    expiresAtMs,
  });
  const controls = { stamp: 's', entries: [pause('a', 100), pause(null, 50), pause('b', null)] };
  const until = (accountId: string, nowMs: number) =>
    controlsInForce(controls, accountId, nowMs).pause?.expiresAtMs;
  expect(until('a', 0)).toBe(100);
  expect(until('a', 99)).toBe(100);
  expect(until('a', 100)).toBeUndefined();
  expect(until('c', 49)).toBe(50);
  expect(until('c', 50)).toBeUndefined();
  expect(until('b', 1e15)).toBeNull();
});

describe.each(PLACE_KINDS)('operator controls in %s', (kind) => {
  let places: Places;
  beforeAll(async () => {
    places = await openPlaces(kind);
  });
  afterAll(() => places.close());

  async function pausedBy(place: Place, accountId: string): Promise<string | undefined> {
    const { controls } = await place.open().store.read(accountId);
    return controlsInForce(controls, accountId, systemClock.nowMs()).pause?.reason;
  }

  test('a global pause holds in every bucket when it resolves, and is lifted in every bucket', async () => {
    const place = places.open();
    const { controls, store, audit } = place.open();
    await controls.put({ kind: 'pause', accountId: null, ...BY, expiresAtMs: null });
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const view = await store.readBucket(bucket, []);
      expect(controlsInForce(view.controls, 'any', 0).pause).toMatchObject(BY);
    }
    expect(await controls.list()).toHaveLength(1);
    const lifted = await controls.lift({ kind: 'pause', accountId: null }, BY);
    expect(lifted).toHaveLength(1);
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const view = await store.readBucket(bucket, []);
      expect(view.controls.entries).toEqual([]);
    }
    expect(await audit.verify(OPERATOR_CHAIN)).toMatchObject({ kind: 'intact' });
    const contents = (await audit.tail(OPERATOR_CHAIN, 2)).map(({ record }) => record.content);
    expect(contents).toMatchObject([
      { kind: 'control', change: 'put', by: BY },
      { kind: 'control', change: 'lifted', by: BY },
    ]);
  });

  test('a pause of one account is in its own chain and holds no other account', async () => {
    const place = places.open();
    const { controls, audit } = place.open();
    await controls.put({ kind: 'pause', accountId: 'mine', ...BY, expiresAtMs: null });
    expect(await pausedBy(place, 'mine')).toBe(BY.reason);
    expect(await pausedBy(place, 'yours')).toBeUndefined();
    const [record] = await audit.tail('mine', 1);
    expect(record?.record.content).toMatchObject({ kind: 'control', change: 'put' });
  });

  test('a process that has the controls sees a change with its next read and before its next commit', async () => {
    const place = places.open();
    const worker = place.open();
    const first = await worker.store.read('busy');
    if (first.load.kind !== 'loaded') throw new Error('refused');
    expect(first.controls.entries).toEqual([]);
    const base = await commit(worker, { base: first.load.account, controls: first.controls });
    await place.open().controls.put({ kind: 'pause', accountId: null, ...BY, expiresAtMs: null });
    const refused = await commitOne(worker, { base, controls: first.controls });
    expect(refused.kind).toBe('controlsChanged');
    if (refused.kind === 'controlsChanged') expect(refused.controls.entries).toMatchObject([BY]);
    const { controls } = await worker.store.read('busy');
    expect(controls.entries).toMatchObject([{ kind: 'pause', ...BY }]);
    await commit(worker, { base: await load(worker, 'busy'), controls });
  });

  test('an order repeated under one key exists once, even at the same time and after it was taken', async () => {
    const place = places.open();
    const expiresAtMs = systemClock.nowMs() + HOUR;
    const order = {
      kind: 'reduce',
      positionId: '42',
      target: { kind: 'by', fraction: 0.5 },
      slippageSteps: [0.01],
      flatten: false,
      ...BY,
      expiresAtMs,
    } as const;
    const said = await Promise.all(
      Array.from({ length: 5 }, () => place.open().controls.submit('keyed', order, 'k')),
    );
    expect(new Set(said.map(({ id }) => id)).size).toBe(1);
    const worker = place.open();
    const waiting = await load(worker, 'keyed');
    expect(waiting.documents.inbox?.orders).toEqual([said[0]]);
    // After a daemon has taken it, only the audit remembers it.
    await commit(worker, { base: waiting, documents: { inbox: null } });
    const { controls } = place.open();
    const again = await controls.submit('keyed', { ...order, expiresAtMs: expiresAtMs + 1 }, 'k');
    expect(again).toEqual(said[0]);
    expect((await load(worker, 'keyed')).documents.inbox).toBeUndefined();
    const other = { ...order, positionId: '43' };
    await expect(controls.submit('keyed', other, 'k')).rejects.toMatchObject({ code: 'KEY_REUSED' });
    const free = await Promise.all([controls.submit('keyed', order, 'k2'), controls.submit('keyed', order)]);
    expect(new Set([...free, again].map(({ id }) => id)).size).toBe(3);
  });

  test('silences count per rule and per subject, and replace one another by scope', async () => {
    const place = places.open();
    const { controls, store } = place.open();
    const expiresAtMs = systemClock.nowMs() + HOUR;
    const silence = { kind: 'silence', accountId: 'acc', ...BY, expiresAtMs } as const;
    await controls.put({ ...silence, ruleId: 'whole', subject: null });
    await controls.put({ ...silence, ruleId: 'part', subject: 'position:1' });
    await controls.put({ ...silence, ruleId: 'part', subject: 'position:1', reason: 'again' });
    const { controls: read } = await store.read('acc');
    const inForce = controlsInForce(read, 'acc', systemClock.nowMs());
    expect(inForce.silencedRules).toEqual(['whole']);
    expect(inForce.silences.map(({ reason }) => reason)).toEqual([BY.reason, 'again']);
    expect(isSilenced(inForce, 'whole', 'position:9')).toBe(true);
    expect(isSilenced(inForce, 'part', 'position:1')).toBe(true);
    expect(isSilenced(inForce, 'part', 'position:2')).toBe(false);
    expect(isSilenced(controlsInForce(read, 'acc', expiresAtMs), 'whole', 'position:9')).toBe(false);
    await controls.lift({ kind: 'silence', accountId: 'acc', ruleId: 'part', subject: 'position:1' }, BY);
    expect((await controls.list()).map((control) => control.kind === 'silence' && control.ruleId)).toEqual([
      'whole',
    ]);
  });

  test('the first of several acknowledgements counts, in every process, until the episode gets worse', async () => {
    const place = places.open();
    const { store, audit } = place.open();
    const expiresAtMs = systemClock.nowMs() + HOUR;
    const episode = { ruleId: 'near', subject: 'position:1', episode: 3, stage: 0 };
    const draft = { kind: 'acknowledgement', accountId: 'acc', ...episode, expiresAtMs } as const;
    const inForce = async () =>
      controlsInForce((await store.read('acc')).controls, 'acc', systemClock.nowMs()).acknowledgements;
    const put = await Promise.all(
      ['ann', 'bob', 'cem'].map((author) => place.open().controls.put({ ...draft, ...BY, author })),
    );
    const [first, ...others] = await inForce();
    expect(others).toEqual([]);
    expect(put).toEqual([first, first, first]);
    const records = (await audit.tail('acc', 10)).filter(({ record }) => record.content.kind === 'control');
    expect(records).toHaveLength(1);
    expect(acknowledgementOf(await inForce(), { ...episode, stage: 1 })).toBeUndefined();
    const { controls } = place.open();
    const worse = await controls.put({ ...draft, stage: 1, ...BY, author: 'dee' });
    expect(await inForce()).toEqual([worse]);
    const next = await controls.put({ ...draft, episode: 4, ...BY });
    expect(await inForce()).toEqual([next]);
    expect(await controls.lift({ kind: 'id', id: next.id }, BY)).toEqual([next]);
    expect(await inForce()).toEqual([]);
  });

  test('acknowledgements never keep a pause out: if there are too many the oldest are dropped', async () => {
    const place = places.open();
    const { controls } = place.open();
    const expiresAtMs = systemClock.nowMs() + HOUR;
    const acknowledged = (index: number): Acknowledgement => ({
      kind: 'acknowledgement',
      id: `a${index}`,
      accountId: 'full',
      ruleId: 'near',
      subject: `position:${index}`,
      episode: index,
      stage: 0,
      ...BY,
      atMs: index,
      expiresAtMs,
    });
    const many = Array.from({ length: MAX_ACKNOWLEDGEMENTS }, (_, index) => acknowledged(index));
    await place.raw.setControls(bucketOf('full'), '', writeControls('s'.repeat(12), many));
    await controls.put({ kind: 'pause', accountId: 'full', ...BY, expiresAtMs: null });
    expect(await controls.list()).toHaveLength(MAX_ACKNOWLEDGEMENTS + 1);
    const { id: _id, atMs: _at, ...draft } = acknowledged(9_999);
    await controls.put(draft);
    const left = await controls.list();
    expect(left).toHaveLength(MAX_ACKNOWLEDGEMENTS + 1);
    expect(left.some(({ id }) => id === 'a0')).toBe(false);
    expect(left.some(({ kind: one }) => one === 'pause')).toBe(true);
  });

  test('many operators at once lose none of their controls', async () => {
    const place = places.open();
    const expiresAtMs = systemClock.nowMs() + HOUR;
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        place.open().controls.put({
          kind: 'silence',
          accountId: index % 2 === 0 ? 'acc' : null,
          ruleId: `rule-${index}`,
          subject: null,
          ...BY,
          expiresAtMs,
        }),
      ),
    );
    const { controls } = await place.open().store.readBucket(bucketOf('acc'), []);
    expect(controls.entries).toHaveLength(8);
    const { controls: elsewhere } = await place.open().store.readBucket((bucketOf('acc') + 1) % BUCKETS, []);
    expect(elsewhere.entries).toHaveLength(4);
  });

  test('expired controls make room; without room, without author or already expired a control is refused', async () => {
    const place = places.open();
    const clock = manualClock(systemClock.nowMs());
    const { controls } = place.open({ clock });
    const silence = (index: number) => ({
      kind: 'silence' as const,
      accountId: 'acc',
      ruleId: `rule-${index}`,
      subject: null,
      ...BY,
      expiresAtMs: clock.nowMs() + 1_000,
    });
    const [bucket, stamp] = [bucketOf('acc'), 'x'.repeat(12)];
    const entries = Array.from({ length: MAX_CONTROLS }, (_, index) => ({
      ...silence(index),
      id: `id${index}`,
      atMs: 0,
    }));
    await place.raw.setControls(bucket, '', writeControls(stamp, entries));
    await expect(controls.put(silence(9_999))).rejects.toMatchObject({ code: 'CONTROLS_FULL' });
    clock.advance(1_001);
    await controls.put(silence(9_999));
    expect(await controls.list()).toHaveLength(1);
    await expect(controls.put({ ...silence(1), author: ' ' })).rejects.toMatchObject({
      code: 'CONTROL_INVALID',
    });
    const late = { ...silence(1), expiresAtMs: clock.nowMs() };
    await expect(controls.put(late)).rejects.toMatchObject({ code: 'CONTROL_INVALID' });
  });

  test.each(['{"version":2,"entries":[]}', 'nonsense'])(
    'controls that read %s pause everything',
    async (body) => {
      const place = places.open();
      await place.raw.setControls(bucketOf('acc'), '', 'y'.repeat(12) + body);
      expect(await pausedBy(place, 'acc')).toMatch(/the stored controls/);
      const { controls } = place.open();
      await controls.put({ kind: 'pause', accountId: 'acc', ...BY, expiresAtMs: null });
      expect(await controls.list()).toHaveLength(2);
      await controls.lift({ kind: 'id', id: 'unreadable' }, BY);
      await controls.lift({ kind: 'pause', accountId: 'acc' }, BY);
      expect(await pausedBy(place, 'acc')).toBeUndefined();
    },
  );

  test('an unreadable acknowledgement holds nothing back and removes no pause', async () => {
    const place = places.open();
    const pause = { kind: 'pause', id: 'p', accountId: 'acc', ...BY, atMs: 0, expiresAtMs: null };
    const broken = { kind: 'acknowledgement', id: 'k', accountId: 'acc', ...BY, atMs: 0, episode: 'x' };
    const write = async (stamp: string, entries: readonly object[]) => {
      const before = (await place.open().store.read('acc')).controls.stamp;
      await place.raw.setControls(bucketOf('acc'), before, writeControls(stamp, entries as Control[]));
      return (await place.open().store.read('acc')).controls.entries;
    };
    expect(await write('y'.repeat(12), [broken])).toEqual([]);
    expect(await write('z'.repeat(12), [broken, pause])).toEqual([pause]);
  });

  test('an order is in the inbox and in the audit, makes its account due, and is consumed once', async () => {
    const place = places.open();
    const worker = place.open();
    const bucket = bucketOf('inbox');
    const take = { accountIds: ['inbox'], claimMs: 30_000, maxAheadMs: 60_000 };
    await worker.store.takeDue(bucket, take);
    const before = await commit(worker, {
      base: await load(worker, 'inbox'),
      due: { inMs: 20_000, danger: 0.3 },
    });
    const order = await place.open().controls.submit('inbox', {
      kind: 'reduce',
      ...BY,
      expiresAtMs: systemClock.nowMs() + HOUR,
      markets: ['*_PERP'],
      target: { kind: 'to', fraction: 0 },
      slippageSteps: [0.01],
      flatten: true,
    });
    expect((await commitOne(worker, { base: before })).kind).toBe('conflict');
    const due = await worker.store.takeDue(bucket, take);
    const [found] = due.accounts;
    if (found?.kind !== 'loaded') throw new Error('not due');
    expect(found.account.documents.inbox?.orders).toEqual([order]);
    expect(found.account.danger).toBe(0.3);
    const rival = await load(place.open(), 'inbox');
    expect(rival.documents.inbox?.orders).toHaveLength(1);
    await commit(worker, { base: found.account, documents: { inbox: { version: 1, orders: [] } } });
    const other = place.open();
    await load(other, 'inbox');
    expect((await load(other, 'inbox')).documents.inbox?.orders).toEqual([]);
    const [record] = await other.audit.tail('inbox', 1);
    expect(record?.record.content).toMatchObject({ kind: 'operatorOrder', order: { id: order.id } });
  });

  test('a control that could not be read later is refused before it is stored', async () => {
    const { controls } = places.open().open();
    const pause = { kind: 'pause' as const, accountId: 'a', expiresAtMs: null };
    await expect(controls.put({ ...pause, ...BY, reason: 'x'.repeat(2_001) })).rejects.toMatchObject({
      code: 'CONTROL_INVALID',
      message: expect.stringContaining('its reason cannot be stored') as string,
    });
    const order = {
      kind: 'reduce' as const,
      ...BY,
      expiresAtMs: systemClock.nowMs() + HOUR,
      markets: ['*'],
      target: { kind: 'by' as const, fraction: 7 },
      slippageSteps: [0.01],
      flatten: false,
    };
    await expect(controls.submit('a', order)).rejects.toMatchObject({ code: 'CONTROL_INVALID' });
    expect(await controls.list()).toEqual([]);
  });

  test('orders submitted together all arrive, up to a bound', async () => {
    const place = places.open();
    const draft = { kind: 'withdraw', ...BY, expiresAtMs: systemClock.nowMs() + HOUR, orderId: 'x' } as const;
    const submit = () => place.open().controls.submit('full', draft);
    const orders = await Promise.all(Array.from({ length: 10 }, submit));
    const account = await load(place.open(), 'full');
    expect(account.documents.inbox?.orders.map(({ id }) => id).sort()).toEqual(
      orders.map(({ id }) => id).sort(),
    );
    const { controls } = place.open();
    for (let index = orders.length; index < MAX_INBOX_ORDERS; index += 1)
      await controls.submit('full', draft);
    await expect(controls.submit('full', draft)).rejects.toMatchObject({ code: 'INBOX_FULL' });
  });
});
