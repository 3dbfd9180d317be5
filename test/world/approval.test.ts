import { describe, expect, test } from 'vitest';
import type { Notice } from '../../src/core/ports/notifier.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { PriceSpec, TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** People are asked before a rule acts: their answers, and the exchange's ledger afterwards. */

interface Asking {
  readonly within?: string;
  readonly withoutAnswer?: 'act' | 'hold';
  readonly mode?: string;
  readonly below?: string;
  readonly action?: string;
  readonly escalate?: string;
}

function configOf({
  within = '20s',
  withoutAnswer = 'act',
  mode = 'approve',
  below = '9%',
  action = 'reduce: { by: 50%, slippage: 1% }',
  escalate = '',
}: Asking = {}): string {
  return `mode: ${mode}
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 1s }
acting: { fillWithin: 2s }
approval: { within: ${within}, withoutAnswer: ${withoutAnswer} }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: ${below}, clearAbove: 30% } }
    do: [{ ${action} }]
    ${escalate}
    severity: critical
`;
}

/** From 10 % away to 8.3 % at 5 s, then constant except for small waves, in which stops trigger. */
const FALL_AT_MS = 5_000;
function prices(further: readonly (readonly [number, string])[] = []): readonly PriceSpec[] {
  const waves = Array.from({ length: 120 }, (_, index): readonly [number, string] => [
    FALL_AT_MS + 1_000 + index * 1_000,
    index % 2 === 0 ? '58550' : '58850',
  ]);
  const until = further[0]?.[0] ?? Number.POSITIVE_INFINITY;
  const points = [
    [0, '60000'],
    [FALL_AT_MS, '60000'],
    ...waves.filter(([atMs]) => atMs < until),
    ...further,
  ] as readonly (readonly [number, string])[];
  return [{ market: 'BTC_USDT', points, tickMs: 100 }];
}

interface Played {
  readonly config?: Asking;
  readonly events?: readonly TimedEvent[];
  readonly further?: readonly (readonly [number, string])[];
  readonly durationMs?: number;
  readonly spec?: Partial<WorldSpec>;
}

function open({ config, events = [], further, durationMs = 60_000, spec = {} }: Played): World {
  return openWorld({
    seed: 11,
    durationMs,
    exchange: {
      accounts: [longAccount('3700', { id: 'desk', leverage: 30 })],
    },
    prices: prices(further),
    daemons: [{ name: 'north', config: configOf(config) }],
    events,
    ...spec,
  });
}

async function play(played: Played): Promise<World> {
  const world = open(played);
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const sizeOf = ({ exchange }: World): number =>
  exchange.model.openPositions('desk')[0]?.amount.toNumber() ?? 0;

/** When orders of the account were placed, in milliseconds since the start, by the ledger. */
function placedAt(world: World): readonly number[] {
  return world.exchange.model
    .ledger({ afterSeq: 0, limit: 10_000 })
    .filter(({ kind }) => kind === 'order_placed')
    .map(({ atMs }) => atMs - world.startMs);
}

const noticesOf = ({ daemons }: World): readonly Notice[] =>
  daemons.flatMap(({ notices }) => notices).filter(({ kind }) => kind === 'approval');

const answer = (
  atMs: number,
  decision: 'approve' | 'veto',
  changes: Partial<Extract<TimedEvent, { kind: 'answer' }>> = {},
): TimedEvent => ({ atMs, kind: 'answer', account: 'desk', decision, ...changes });

/** The rule fires with the fall, and asks at this time. */
const ASKED_BY_MS = FALL_AT_MS + 1_000;

describe('a question to people', () => {
  test('approved: it acts then, not before, and says so', async () => {
    const world = await play({ events: [answer(12_000, 'approve')] });
    expect(Math.min(...placedAt(world))).toBeGreaterThan(12_000);
    expect(Math.min(...placedAt(world))).toBeLessThan(14_000);
    expect(sizeOf(world)).toBe(0.25);
    const [asked, settled] = noticesOf(world);
    expect(asked?.approval).toMatchObject({ withoutAnswer: 'act' });
    expect(asked?.approval?.orders).toEqual([expect.stringMatching(/^sell 0\.25 BTC_PERP once/)]);
    expect((asked?.approval?.untilMs ?? 0) - (asked?.atMs ?? 0)).toBe(20_000);
    expect(settled?.words).toContain('operator approved');
    // No order had been accepted when that was said.
    expect(settled?.atMs).toBeLessThan(world.startMs + Math.min(...placedAt(world)));
    expect(settled?.doing).toMatchObject({ state: 'watching', cause: 'ruleFiring' });
  });

  test('vetoed: no order is sent, however long the rule fires', async () => {
    const world = await play({ events: [answer(12_000, 'veto')], durationMs: 100_000 });
    expect(placedAt(world)).toEqual([]);
    expect(sizeOf(world)).toBe(0.5);
    expect(noticesOf(world).at(-1)?.words).toContain('operator vetoed');
  });

  test('no answer: it acts at the deadline, neither before nor much later', async () => {
    const world = await play({});
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThanOrEqual(FALL_AT_MS + 20_000);
    expect(first).toBeLessThan(ASKED_BY_MS + 21_500);
    expect(sizeOf(world)).toBe(0.25);
  });

  test('no answer where one is required: it does nothing until somebody approves', async () => {
    const config: Asking = { withoutAnswer: 'hold' };
    const world = await play({ config, events: [answer(50_000, 'approve')], durationMs: 70_000 });
    expect(Math.min(...placedAt(world))).toBeGreaterThan(50_000);
    expect(sizeOf(world)).toBe(0.25);
    const alarms = world.daemons.flatMap(({ notices }) => notices).filter(({ kind }) => kind === 'alarm');
    expect(alarms.some(({ words }) => words.includes('nobody has approved it in time'))).toBe(true);
  });

  test('too little time: at the speed of the worst minutes no answer could come, so it does not wait', async () => {
    // 8.8 % last 53 s at 10 % a minute; the answer may take 60 s.
    const world = await play({ config: { within: '60s' } });
    expect(Math.min(...placedAt(world))).toBeLessThan(ASKED_BY_MS + 500);
    expect(noticesOf(world)).toEqual([]);
  });

  test('the remaining time is recomputed at every poll: a fall during the wait ends it', async () => {
    const fall = [
      [15_000, '58700'],
      [16_000, '55600'],
      [30_000, '55000'],
    ] as const;
    const world = await play({ further: fall, durationMs: 30_000 });
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThan(15_000);
    expect(first).toBeLessThan(17_500);
    expect(sizeOf(world)).toBe(0.25);
  });

  test('a notice that reaches nobody: it does not wait', async () => {
    const events: TimedEvent[] = [{ atMs: 0, kind: 'people', state: 'unreachable' }];
    const world = await play({ events });
    expect(Math.min(...placedAt(world))).toBeLessThan(ASKED_BY_MS + 2_000);
    expect(noticesOf(world).at(-1)?.words).toContain('no notice of it has reached anybody');
  });

  test('vetoed, then liquidation comes near: it asks again, and does not wait if there is no time', async () => {
    const called = [
      [30_000, '58700'],
      [32_000, '54700'],
      [45_000, '54300'],
    ] as const;
    const world = await play({ events: [answer(12_000, 'veto')], further: called, durationMs: 45_000 });
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThan(30_000);
    expect(sizeOf(world)).toBeLessThanOrEqual(0.25);
  });

  test('standing stops and operator orders ask nobody', async () => {
    const stop: Asking = { action: 'protect: { at: 60%, slippage: 1% }' };
    const protectedAt = placedAt(await play({ config: stop, durationMs: 20_000 }));
    expect(Math.min(...protectedAt)).toBeLessThan(ASKED_BY_MS + 500);
    const byHand: TimedEvent = {
      atMs: 2_000,
      kind: 'reduce',
      account: 'desk',
      markets: ['BTC_PERP'],
      target: { kind: 'by', fraction: 0.2 },
      slippage: 0.01,
    };
    const world = await play({ events: [byHand], config: { within: '30s' }, durationMs: 20_000 });
    expect(sizeOf(world)).toBe(0.4);
  });
});

describe('several answers', () => {
  test('two people at once: the first answer counts, and the other person learns of it', async () => {
    const world = open({});
    await world.run(10_000);
    const { load } = await world.store.read('desk');
    const [question] = load.kind === 'loaded' ? (load.account.documents.approvals?.questions ?? []) : [];
    const draft = { questionId: question?.id ?? '', revision: 1, reason: 'seen' };
    const replies = await Promise.all([
      world.operators.answer('desk', { ...draft, decision: 'veto', author: 'anna' }),
      world.operators.answer('desk', { ...draft, decision: 'approve', author: 'ben' }),
    ]);
    expect(replies.map(({ kind }) => kind).toSorted()).toEqual(['answered', 'taken']);
    const taken = replies[0].kind === 'taken' ? 'veto' : 'approve';
    await world.run();
    expect(sizeOf(world)).toBe(taken === 'veto' ? 0.5 : 0.25);
    expect(world.errors).toEqual([]);
  });

  test('a replayed approval: the same answer approves nothing later', async () => {
    // Vetoed; asked again when the position gets worse; the first approval belonged to the earlier question.
    const worse = [
      [30_000, '58700'],
      [32_000, '57800'],
      [34_000, '57700'],
    ] as const;
    const config: Asking = { withoutAnswer: 'hold', within: '5s' };
    const world = open({ config, events: [answer(12_000, 'veto')], further: worse });
    await world.run(45_000);
    const { load } = await world.store.read('desk');
    const [question] = load.kind === 'loaded' ? (load.account.documents.approvals?.questions ?? []) : [];
    expect(question?.asked.map(({ revision }) => revision)).toEqual([1, 2]);
    const draft = { questionId: question?.id ?? '', author: 'anna', reason: 'a link from before' };
    const replayed = await world.operators.answer('desk', { ...draft, decision: 'approve', revision: 1 });
    expect(replayed).toEqual({ kind: 'over' });
    await world.run(50_000);
    expect(placedAt(world)).toEqual([]);
    const now = await world.operators.answer('desk', { ...draft, decision: 'approve', revision: 2 });
    expect(now.kind).toBe('taken');
    const again = await world.operators.answer('desk', { ...draft, decision: 'veto', revision: 2 });
    expect(again).toMatchObject({ kind: 'answered', decision: 'approve', author: 'anna' });
    await world.run();
    expect(placedAt(world).length).toBeGreaterThan(0);
    expect(world.errors).toEqual([]);
  });

  test('an approved target: a further fall is asked about again, and only the approved part is done', async () => {
    const deeper = [
      [20_000, '58600'],
      [22_000, '56700'],
      [23_000, '56600'],
      [60_000, '56600'],
    ] as const;
    const config: Asking = {
      withoutAnswer: 'hold',
      within: '8s',
      action: 'reduce: { untilDistance: 12%, slippage: 1% }',
    };
    const world = await play({ config, events: [answer(10_000, 'approve')], further: deeper });
    const asked = noticesOf(world).filter(({ approval }) => approval !== undefined);
    expect(asked.length).toBeGreaterThan(1);
    const { load } = await world.store.read('desk');
    const [question] = load.kind === 'loaded' ? (load.account.documents.approvals?.questions ?? []) : [];
    const approved = Number(question?.approved?.[0]?.targetBase);
    expect(Number(question?.asked.at(-1)?.targets[0]?.targetBase)).toBeLessThan(approved);
    expect(sizeOf(world)).toBeGreaterThanOrEqual(approved);
    expect(sizeOf(world)).toBeLessThan(approved + 0.002);
  });
});

describe('events during the wait', () => {
  const RESTART: readonly TimedEvent[] = [
    { atMs: 10_000, kind: 'kill', daemon: 'north' },
    { atMs: 14_000, kind: 'start', daemon: 'north' },
  ];

  test('a restart before the deadline: it acts at the same deadline', async () => {
    const first = Math.min(...placedAt(await play({ events: RESTART })));
    expect(first).toBeGreaterThanOrEqual(FALL_AT_MS + 20_000);
    expect(first).toBeLessThan(ASKED_BY_MS + 23_000);
  });

  test('a restart after a veto: it stays vetoed', async () => {
    const world = await play({ events: [answer(8_000, 'veto'), ...RESTART] });
    expect(placedAt(world)).toEqual([]);
  });

  test('an answer while no daemon runs counts once one is back', async () => {
    const events = [...RESTART, answer(12_000, 'veto')].toSorted((a, b) => a.atMs - b.atMs);
    expect(placedAt(await play({ events }))).toEqual([]);
  });

  test('the store is lost: it goes on by its deadline', async () => {
    const events: TimedEvent[] = [{ atMs: 10_000, kind: 'store', state: 'down' }];
    const world = open({ events });
    await world.run();
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThanOrEqual(FALL_AT_MS + 20_000);
    expect(first).toBeLessThan(ASKED_BY_MS + 30_000);
  });

  test('a pause: nobody is asked meanwhile, and people are asked again when it ends', async () => {
    const events: TimedEvent[] = [
      { atMs: 10_000, kind: 'pause', account: 'desk' },
      { atMs: 40_000, kind: 'unpause', account: 'desk' },
    ];
    const world = await play({ events, durationMs: 75_000 });
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThanOrEqual(60_000);
    expect(first).toBeLessThan(63_000);
    expect(noticesOf(world).filter(({ approval }) => approval !== undefined)).toHaveLength(2);
  });

  test('a clock set ahead does not shorten the wait: it acts when the time has really passed', async () => {
    const events: TimedEvent[] = [{ atMs: 10_000, kind: 'stepStoreClock', byMs: 3_600_000 }];
    const first = Math.min(...placedAt(await play({ events })));
    expect(first).toBeGreaterThanOrEqual(FALL_AT_MS + 19_000);
    expect(first).toBeLessThan(ASKED_BY_MS + 24_000);
  });

  test('a later stage asks again after a veto of the first', async () => {
    const escalate = 'escalate: [{ after: 30s, do: [{ reduce: { to: 0%, slippage: 1% } }] }]';
    const world = await play({
      config: { escalate },
      events: [answer(12_000, 'veto')],
      durationMs: 75_000,
    });
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThanOrEqual(FALL_AT_MS + 50_000);
    expect(sizeOf(world)).toBe(0);
  });

  test('from observe to approve: an observed breach is asked about', async () => {
    const events: TimedEvent[] = [{ atMs: 15_000, kind: 'reload', daemon: 'north', config: configOf() }];
    const world = await play({ config: { mode: 'observe' }, events });
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThanOrEqual(35_000);
    expect(first).toBeLessThan(38_000);
  });
});

describe('an approval bounds the action', () => {
  const DEEPER = [
    [20_000, '58600'],
    [22_000, '56700'],
    [23_000, '56600'],
    [60_000, '56600'],
  ] as const;
  const TRAILING: Asking = {
    withoutAnswer: 'hold',
    within: '8s',
    action: 'reduce: { untilDistance: 12%, slippage: 1% }',
  };
  const enforced = configOf({ ...TRAILING, mode: 'enforce' });

  test('the mode becomes enforce after an approval of less: it goes as far as the rule says', async () => {
    const events: TimedEvent[] = [
      answer(10_000, 'approve'),
      { atMs: 40_000, kind: 'reload', daemon: 'north', config: enforced },
    ];
    const world = await play({ config: TRAILING, events, further: DEEPER, durationMs: 70_000 });
    const { load } = await world.store.read('desk');
    const lanes = load.kind === 'loaded' ? [...load.account.lanes.values()] : [];
    const [intent] = lanes.flatMap(({ intents }) => intents);
    expect(intent?.approvedBase).toBeUndefined();
    expect(world.exchange.model.openOrders('desk').length + Number(intent?.end?.how === 'reached')).toBe(1);
  });

  test.each(['veto', undefined] as const)(
    'the rest is refused (%s): the intent is not reopened and ended with every poll',
    async (decision) => {
      const further = decision === undefined ? [] : [answer(26_000, decision)];
      const events = [answer(10_000, 'approve'), ...further];
      const world = await play({ config: TRAILING, events, further: DEEPER });
      const ended = (await world.audit.tail('desk', 10_000)).filter(
        ({ record: { content } }) => content.kind === 'action' && content.event.kind === 'intentEnded',
      );
      expect(ended.length).toBeLessThan(4);
    },
  );

  test('a cancel held without an answer is sent when it is approved late', async () => {
    const config: Asking = { withoutAnswer: 'hold', action: 'cancelAll: { types: [spot], scope: account }' };
    const world = await play({ config, events: [answer(80_000, 'approve')], durationMs: 90_000 });
    const cancels = world.exchange.model
      .ledger({ kinds: ['request'] })
      .filter(({ details }) => String(details?.['path']).includes('cancel'));
    expect(cancels.map(({ atMs }) => Math.floor((atMs - world.startMs) / 10_000))).toEqual([8]);
  });
});

describe('a margin call asks nobody', () => {
  /**
   * The exchange calls at 9.5 %: within 3 % of where people were asked, so that the fall itself asks no second time.
   */
  const CALLED = { markets: { BTC_PERP: { maintenanceMargin: '0.16' } } };
  const config: Asking = { below: '9.85%', within: '20s' };
  const fallsTo = (price: string): Partial<WorldSpec> => ({
    exchange: {
      ...CALLED,
      accounts: [longAccount('7320', { id: 'desk', leverage: 5 })],
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [FALL_AT_MS, '60000'],
          [FALL_AT_MS + 1_000, '59850'],
          [15_000, '59850'],
          [16_000, price],
          [60_000, price],
        ],
        tickMs: 100,
      },
    ],
    daemons: [
      { name: 'north', config: configOf(config).replace('maintenanceMargin: 3%', 'maintenanceMargin: 16%') },
    ],
  });
  const calledAt = (world: World): readonly number[] =>
    world.exchange.model.ledger({ kinds: ['margin_call'] }).map(({ atMs }) => atMs - world.startMs);

  test.each([
    ['vetoed', [answer(12_000, 'veto')]],
    ['not answered yet', []],
  ] as const)('%s: an order is sent at once when the exchange calls, and not before', async (_, events) => {
    const world = await play({ events: [...events], spec: fallsTo('59650'), durationMs: 22_000 });
    const [called = Number.NaN] = calledAt(world);
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThan(called);
    expect(first).toBeLessThan(called + 2_000);
  });

  test('just before the exchange calls a veto holds', async () => {
    const world = await play({ events: [answer(12_000, 'veto')], spec: fallsTo('59720') });
    expect(calledAt(world)).toEqual([]);
    expect(placedAt(world)).toEqual([]);
  });
});

describe('two daemons', () => {
  const BOTH = ['north', 'south'].map((name) => ({ name, config: configOf() }));

  test.each([
    ['half a second after the veto', 12_500],
    ['three seconds after it', 15_000],
    ['well after it', 20_000],
  ])('the store is lost %s: neither acts on a vetoed question', async (_, lostMs) => {
    const events: TimedEvent[] = [answer(12_000, 'veto'), { atMs: lostMs, kind: 'store', state: 'down' }];
    const world = open({ events, spec: { daemons: BOTH }, durationMs: 70_000 });
    await world.run();
    expect(placedAt(world)).toEqual([]);
  });

  test('no answer: one of them acts, once', async () => {
    const world = await play({ spec: { daemons: BOTH } });
    const first = Math.min(...placedAt(world));
    expect(first).toBeGreaterThanOrEqual(FALL_AT_MS + 20_000);
    expect(first).toBeLessThan(ASKED_BY_MS + 21_500);
    expect(sizeOf(world)).toBe(0.25);
    expect(noticesOf(world).filter(({ approval }) => approval !== undefined)).toHaveLength(1);
  });
});
