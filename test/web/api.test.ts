import { afterEach, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import type { AuditDraft } from '../../src/core/audit/audit-record.ts';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import type { NoticeLine } from '../../src/core/view/account-view.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryState, type State } from '../../src/state/state.ts';
import { API_ROUTES } from '../../src/web/api/openapi.ts';
import { errorReply } from '../../src/web/api/schemas.ts';
import {
  type Answer,
  accountView,
  ask,
  CONTROL_TOKEN,
  type Fixture,
  pauseOf,
  startFixture,
} from './fixture.ts';

const open: Fixture[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((fixture) => fixture.close()));
});

async function start(...options: Parameters<typeof startFixture>): Promise<Fixture> {
  const fixture = await startFixture(...options);
  open.push(fixture);
  return fixture;
}

/** Checks a reply against the operation's description. */
function expectReply(id: string, answer: Answer): unknown {
  const route = API_ROUTES.find((one) => one.id === id);
  const shape: z.ZodType | undefined = answer.status < 400 ? route?.reply : errorReply;
  const read = shape?.safeParse(answer.json);
  expect({ id, issues: read?.error?.issues ?? [], body: answer.body }).toMatchObject({ id, issues: [] });
  expect(read?.success).toBe(true);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  if (answer.status < 400) expect(answer.status).toBe(route?.status);
  return answer.json;
}

describe('reading', () => {
  test('the overview counts firing rules and names what is held back', async () => {
    const { server, state } = await start();
    await state.controls.put({
      kind: 'pause',
      accountId: null,
      author: 'ann',
      reason: 'test',
      expiresAtMs: null,
    });
    const far = systemClock.nowMs() + 60_000;
    await state.controls.put({
      kind: 'silence',
      accountId: 'desk-1',
      ruleId: 'near',
      subject: null,
      author: 'ann',
      reason: 'x',
      expiresAtMs: far,
    });
    const overview = expectReply('getOverview', await ask(server, '/api/v1/overview'));
    expect(overview).toMatchObject({
      version: '1.2.3',
      instance: 'i0-test',
      mode: 'enforce',
      accounts: 2,
      firing: { critical: 1, warning: 0, info: 0 },
      pauses: [{ accountId: null, author: 'ann' }],
      silences: [{ ruleId: 'near' }],
      health: { ready: true },
      degraded: ['notify'],
      reachesAll: true,
      degradedWords: { notify: 'notifications are not delivered' },
      queues: [{ queue: 'poll', waiting: 1 }],
      may: { control: true, topUp: false },
    });
  });

  test('accounts are listed most endangered first, searchable by text and by firing, in pages', async () => {
    const accounts = ['a', 'b', 'c', 'd'].map((id, index) =>
      accountView(id, {
        danger: index / 10,
        worst: index > 1 ? 'warning' : null,
        labels: { desk: `x${index}` },
      }),
    );
    const refused = accountView('e', {
      refused: { document: 'lane:BTC_PERP', message: 'newer' },
      danger: 0,
      worst: null,
    });
    const { server } = await start({ accounts: [...accounts, refused] });
    const list = async (query: string) => {
      const answer = expectReply('listAccounts', await ask(server, `/api/v1/accounts${query}`));
      const { total, accounts: found } = answer as { total: number; accounts: { accountId: string }[] };
      return [total, ...found.map(({ accountId }) => accountId)];
    };
    expect(await list('')).toEqual([5, 'e', 'd', 'c', 'b', 'a']);
    expect(await list('?limit=2&offset=1')).toEqual([5, 'd', 'c']);
    expect(await list('?firing=true')).toEqual([2, 'd', 'c']);
    expect(await list('?firing=false')).toEqual([3, 'e', 'b', 'a']);
    expect(await list('?query=DESK%3DX2')).toEqual([1, 'c']);
    expect(await list('?query=btc_perp&limit=1')).toEqual([5, 'e']);
    expect(await list('?query=nothing')).toEqual([0]);
  });

  test.each([
    '/api/v1/accounts?limit=0',
    '/api/v1/accounts?limit=101',
    '/api/v1/accounts?limit=1e9',
    '/api/v1/accounts?offset=-1',
    '/api/v1/accounts?firing=maybe',
    '/api/v1/accounts?unknown=1',
    '/api/v1/accounts?query=a&query=b',
    `/api/v1/accounts?query=${'x'.repeat(101)}`,
    '/api/v1/accounts/desk-1/history',
    '/api/v1/accounts/desk-1/history?subject=account&fromMs=yesterday',
    '/api/v1/accounts/desk-1/story?beforeSeq=0',
    '/api/v1/accounts/desk-1/audit/0',
    '/api/v1/accounts/desk-1/audit/x',
    '/api/v1/actions?limit=501',
    `/api/v1/events?accounts=${Array.from({ length: 101 }, (_, index) => `a${index}`).join(',')}`,
    '/api/v1/events?accounts=a,,b',
  ])('%s is refused with the error', async (url) => {
    const { server, errors } = await start();
    const answer = await ask(server, url);
    expect(answer).toMatchObject({ status: 400 });
    expect(errorReply.safeParse(answer.json).success).toBe(true);
    expect(errors).toEqual([]);
  });

  test.each([
    '/api/v1/accounts/nobody',
    '/api/v1/accounts/nobody/history?subject=account',
    '/api/v1/accounts/nobody/story',
    '/api/v1/accounts/nobody/audit/1',
    '/api/v1/accounts/nobody/top-ups',
    '/api/v1/accounts/desk-1/audit/999',
    '/api/v1/nothing',
    '/api/v2/overview',
  ])('%s is not there', async (url) => {
    const { server } = await start();
    const answer = await ask(server, url);
    expect([answer.status, answer.json]).toMatchObject([404, { error: { code: 'notFound' } }]);
  });

  test('an account and its history are returned', async () => {
    const { server, state } = await start();
    expectReply('getAccount', await ask(server, '/api/v1/accounts/desk-1'));
    const { load } = await state.store.read('desk-1');
    if (load.kind !== 'loaded') throw new Error('not loaded');
    const history = [{ subject: 'position:42', values: { liquidationDistance: 0.1, markPrice: '58000' } }];
    await state.store.commit([{ base: load.account, history }]);
    const url = '/api/v1/accounts/desk-1/history?subject=position%3A42';
    expect(expectReply('getHistory', await ask(server, url))).toMatchObject({
      subject: 'position:42',
      points: [{ values: { markPrice: '58000' } }],
    });
    expect(
      expectReply('getHistory', await ask(server, `${url}&fromMs=${systemClock.nowMs() + 60_000}`)),
    ).toMatchObject({
      points: [],
    });
  });

  test('a state store that does not answer is reported, with the reason in the log', async () => {
    const lost = new StoreLostError('reading', new Error('ECONNREFUSED redis://:password@host'));
    const { server, errors } = await start({
      sources: { history: { read: () => Promise.reject(lost) } },
    });
    const answer = await ask(server, '/api/v1/accounts/desk-1/history?subject=account');
    expect([answer.status, answer.json]).toMatchObject([503, { error: { code: 'stateLost' } }]);
    expect(answer.body).not.toContain('password');
    expect(errors).toEqual([lost]);
  });
});

const ORDER = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: '0.1',
  price: '1',
  activationPrice: '2',
  clientOrderId: 'bw.1',
  positionSide: 'BOTH',
} as unknown as AuditEvent['order'];

/** An event of the lane itself. */
function action(event: Partial<AuditEvent> & Pick<AuditEvent, 'kind' | 'atMs'>): AuditDraft {
  return {
    kind: 'action',
    event: { accountId: 'desk-1', market: 'BTC_PERP', reason: 'reduce', words: 'w', alarm: false, ...event },
  };
}

async function record(state: State, drafts: readonly AuditDraft[], accountId = 'desk-1'): Promise<void> {
  for (const draft of drafts) {
    const { load } = await state.store.read(accountId);
    if (load.kind !== 'loaded') throw new Error('not loaded');
    const [result] = await state.store.commit([{ base: load.account, audit: [draft] }]);
    expect(result?.kind).toBe('committed');
  }
}

const PLACED: readonly AuditDraft[] = [
  action({
    kind: 'intentOpened',
    atMs: 1,
    positionId: '42',
    ruleId: 'near',
    key: '["near","c","position:42",1,0,1,"42"]',
  }),
  action({ kind: 'cancelling', atMs: 2, reason: 'notFilled', cancel: { market: 'BTC_PERP' } }),
  action({ kind: 'cancelAccepted', atMs: 5, cancel: { market: 'BTC_PERP' } }),
  action({ kind: 'placing', atMs: 10, positionId: '42', ruleId: 'near', order: ORDER! }),
  action({ kind: 'accepted', atMs: 35, reason: 'NEW', positionId: '42', ruleId: 'near', order: ORDER! }),
  action({
    kind: 'placing',
    atMs: 50,
    market: 'ETH_PERP',
    positionId: '43',
    order: { ...ORDER!, clientOrderId: 'bw.2' },
  }),
];

describe('history', () => {
  test('the story of a position has its own orders and its market’s cancels, newest first, with their durations', async () => {
    const { server, state } = await start();
    await record(state, PLACED);
    const whole = expectReply('getStory', await ask(server, '/api/v1/accounts/desk-1/story'));
    // The account's first commit also begins its epoch.
    expect((whole as { entries: unknown[] }).entries).toHaveLength(PLACED.length + 1);
    const url = '/api/v1/accounts/desk-1/story?subject=position%3A42';
    const { entries } = expectReply('getStory', await ask(server, url)) as {
      entries: { kind: string; outcome?: string; tookMs?: number }[];
    };
    expect(
      entries
        .filter(({ kind }) => kind !== 'other')
        .map(({ kind, outcome, tookMs }) => [kind, outcome, tookMs]),
    ).toEqual([
      ['order', 'accepted', 25],
      ['order', 'placing', undefined],
      ['cancel', 'cancelAccepted', 3],
      ['cancel', 'cancelling', undefined],
      ['intent', 'intentOpened', undefined],
    ]);
    const other = expectReply(
      'getStory',
      await ask(server, '/api/v1/accounts/desk-1/story?subject=position%3A43'),
    );
    expect((other as { entries: { outcome?: string }[] }).entries.map(({ outcome }) => outcome)).toEqual([
      'placing',
      undefined,
    ]);
  });

  test('a long story is paged without a gap, even if the subject is quiet for long', async () => {
    const { server, state } = await start();
    const note = (index: number): AuditDraft => ({
      kind: 'note',
      atMs: index,
      about: 'test',
      words: `n${index}`,
      detail: { subject: index % 50 === 0 ? 'position:7' : 'position:8' },
    });
    const { load } = await state.store.read('desk-1');
    if (load.kind !== 'loaded') throw new Error('not loaded');
    await state.store.commit([
      { base: load.account, audit: Array.from({ length: 2500 }, (_, index) => note(index)) },
    ]);
    const words: string[] = [];
    let next: number | null = null;
    let parts = 0;
    do {
      const before: string = next === null ? '' : `&beforeSeq=${next}`;
      const url = `/api/v1/accounts/desk-1/story?subject=position%3A7&limit=3${before}`;
      const reply = expectReply('getStory', await ask(server, url)) as {
        entries: { words: string; kind: string }[];
        nextBeforeSeq: number | null;
      };
      words.push(...reply.entries.map((entry) => entry.words));
      next = reply.nextBeforeSeq;
      parts += 1;
    } while (next !== null && parts < 100);
    expect(words.filter((word) => word.startsWith('test:'))).toEqual(
      Array.from({ length: 50 }, (_, index) => `test: n${(49 - index) * 50}`),
    );
    expect(parts).toBeGreaterThan(10);
  });

  test('orders that observe mode held back are listed newest first, with their result so far', async () => {
    const { server, state } = await start();
    const would = (atMs: number, activationPrice: string) =>
      action({
        kind: 'wouldPlace',
        atMs,
        reason: 'observeMode',
        positionId: '42',
        ruleId: 'near',
        order: { ...ORDER!, activationPrice: activationPrice as DecimalString },
      });
    const { load } = await state.store.read('desk-1');
    if (load.kind !== 'loaded') throw new Error('not loaded');
    const history = [{ subject: 'position:42', values: { markPrice: 1.5 } }];
    const asked = action({
      kind: 'wouldPlace',
      atMs: 3,
      reason: 'awaitingApproval',
      positionId: '42',
      order: ORDER!,
    });
    await state.store.commit([
      { base: load.account, audit: [would(1, '1.2'), would(2, '2'), asked], history },
    ]);
    const url = '/api/v1/accounts/desk-1/observed';
    const reply = expectReply('listObserved', await ask(server, url));
    // (2 - 1.5) * 0.1
    const closed = { kind: 'closed', price: 2, mark: 1.5, gained: expect.closeTo(0.05) };
    expect(reply).toMatchObject({
      orders: [
        { activationPrice: '2', outcome: closed, words: expect.stringContaining('saved 0.05 USDT') },
        { activationPrice: '1.2', outcome: { kind: 'notReached', mark: 1.5 } },
      ],
    });
    expect((reply as { orders: unknown[] }).orders).toHaveLength(2);
    expect(expectReply('listObserved', await ask(server, `${url}?limit=1`))).toMatchObject({
      orders: [{ activationPrice: '2' }],
    });
  });

  test('a record is returned without personal data', async () => {
    const { server, state } = await start();
    const detail = { address: 'bc1-secret-place', memo: 'memo-secret', ticker: 'BTC' };
    await record(state, [{ kind: 'note', atMs: 1, about: 'test', words: 'w', detail }]);
    const answer = await ask(server, '/api/v1/accounts/desk-1/audit/2');
    const reply = expectReply('getAuditRecord', answer);
    expect(reply).toMatchObject({ record: { seq: 2, content: { detail: { ticker: 'BTC' } } }, inputs: null });
    expect(answer.body).not.toMatch(/bc1-secret-place|memo-secret/);
  });

  test('actions of all accounts are listed newest first, with their outcome; a later one is found', async () => {
    const { server, state, set } = await start();
    await record(state, PLACED);
    const list = async () => {
      const { actions } = expectReply('listActions', await ask(server, '/api/v1/actions')) as {
        actions: { id: string; kind: string; outcome: string; tookMs: number | null; market: string }[];
      };
      return actions.map(({ kind, outcome, tookMs, market }) => [market, kind, outcome, tookMs]);
    };
    expect(await list()).toEqual([]);
    set(accountView('desk-1'), 1);
    const before = [
      ['BTC_PERP', 'place', 'accepted', 25],
      ['BTC_PERP', 'cancelAll', 'accepted', 3],
    ];
    expect(await list()).toEqual([['ETH_PERP', 'place', 'pending', null], ...before]);
    const order = { ...ORDER!, clientOrderId: 'bw.2' };
    await record(state, [action({ kind: 'rejected', atMs: 80, market: 'ETH_PERP', reason: 'side', order })]);
    set(accountView('desk-1'), 2);
    expect(await list()).toEqual([['ETH_PERP', 'place', 'rejected', 30], ...before]);
  });
});

const BY = { author: 'ann', reason: 'moving collateral' };
/** The recorded author for the shared control token. */
const SIGNED = 'ann (control token, 127.0.0.1)';
const asControl = (body: unknown, method = 'POST') => ({ method, body, token: CONTROL_TOKEN });

describe('changes', () => {
  test('a pause is in force when the answer comes, is in the audit, and can be lifted', async () => {
    const { server, state } = await start();
    const body = { accountId: 'desk-1', forMs: 60_000, ...BY };
    const put = expectReply('pause', await ask(server, '/api/v1/pauses', asControl(body))) as { id: string };
    expect(await pauseOf(state, 'desk-1')).toMatchObject({ id: put.id, ...BY, author: SIGNED });
    const everywhere = { accountId: null, forMs: null, ...BY };
    expectReply('pause', await ask(server, '/api/v1/pauses', asControl(everywhere)));
    expect(await pauseOf(state, 'desk-2')).toMatchObject({ accountId: null, expiresAtMs: null });
    const lifted = await ask(
      server,
      `/api/v1/pauses/${put.id}`,
      asControl({ author: 'bob', reason: 'done' }, 'DELETE'),
    );
    expect(expectReply('resume', lifted)).toMatchObject({ lifted: [{ id: put.id }] });
    expect(await pauseOf(state, 'desk-1')).toMatchObject({ accountId: null });
    const again = await ask(server, `/api/v1/pauses/${put.id}`, asControl(BY, 'DELETE'));
    expect(again.status).toBe(404);
    const trail = (await state.audit.tail('desk-1', 10)).map(({ record: { content } }) => content);
    expect(trail.filter(({ kind }) => kind === 'control')).toMatchObject([
      { change: 'put', by: { author: SIGNED } },
      { change: 'lifted', by: { author: 'bob (control token, 127.0.0.1)', reason: 'done' } },
    ]);
  });

  test('a silence needs an existing rule, and is not lifted as a pause', async () => {
    const { server, state } = await start();
    const body = { accountId: 'desk-1', ruleId: 'near', subject: 'position:42', forMs: 60_000, ...BY };
    const put = expectReply('silence', await ask(server, '/api/v1/silences', asControl(body))) as {
      id: string;
    };
    expect(await state.controls.list()).toMatchObject([
      { kind: 'silence', id: put.id, subject: 'position:42' },
    ]);
    expect((await ask(server, '/api/v1/silences', asControl({ ...body, ruleId: 'far' }))).status).toBe(404);
    expect((await ask(server, `/api/v1/pauses/${put.id}`, asControl(BY, 'DELETE'))).status).toBe(404);
    expectReply('liftSilence', await ask(server, `/api/v1/silences/${put.id}`, asControl(BY, 'DELETE')));
    expect(await state.controls.list()).toEqual([]);
  });

  const told: NoticeLine = {
    ruleId: 'near',
    subject: 'position:42',
    market: 'BTC_PERP',
    severity: 'critical',
    episode: 1,
    stage: 0,
    sinceMs: 500,
    toldAtMs: 500,
    acknowledged: null,
  };

  test('a notice is acknowledged once, by the first caller, and lifted', async () => {
    const accounts = [accountView('desk-1', { notices: [told] }), accountView('desk-2')];
    const { server, state } = await start({ accounts });
    const said = { accountId: 'desk-1', ruleId: 'near', author: 'ann', episode: 1, stage: 0 };
    const put = await ask(server, '/api/v1/acknowledgements', asControl(said));
    const shown = expectReply('acknowledge', put) as { acknowledgements: { id: string; author: string }[] };
    expect(shown.acknowledgements).toMatchObject([{ author: SIGNED, subject: 'position:42', episode: 1 }]);
    const second = await ask(server, '/api/v1/acknowledgements', asControl({ ...said, author: 'bob' }));
    expect(expectReply('acknowledge', second)).toEqual(shown);
    expect(expectReply('getOverview', await ask(server, '/api/v1/overview'))).toMatchObject(shown);
    const trail = (await state.audit.tail('desk-1', 10)).map(({ record: { content } }) => content);
    expect(trail.filter(({ kind }) => kind === 'control')).toMatchObject([{ by: { author: SIGNED } }]);
    const path = `/api/v1/acknowledgements/${shown.acknowledgements[0]?.id}`;
    expectReply('liftAcknowledgement', await ask(server, path, asControl(BY, 'DELETE')));
    expect(await state.controls.list()).toEqual([]);
  });

  test('an ended, worsened or never sent notice is not acknowledged', async () => {
    const accounts = [accountView('desk-1', { notices: [{ ...told, stage: 1 }] })];
    const { server, state } = await start({ accounts });
    const status = async (body: object) =>
      (
        await ask(
          server,
          '/api/v1/acknowledgements',
          asControl({ accountId: 'desk-1', author: 'a', ...body }),
        )
      ).status;
    expect(await status({ ruleId: 'near', stage: 0 })).toBe(409);
    expect(await status({ ruleId: 'near', episode: 2 })).toBe(409);
    expect(await status({ ruleId: 'ltv' })).toBe(404);
    expect(await status({ ruleId: 'near', subject: 'account' })).toBe(404);
    expect(await status({ accountId: 'desk-9' })).toBe(404);
    expect(await status({ forMs: 8 * 86_400_000 })).toBe(400);
    expect(await state.controls.list()).toEqual([]);
    expect(await status({ accountId: null })).toBe(201);
    expect(await state.controls.list()).toHaveLength(1);
  });

  test.each([
    ['no author', { accountId: null, forMs: null, reason: 'x' }],
    ['an empty reason', { accountId: null, forMs: null, author: 'a', reason: '  ' }],
    ['two lines', { accountId: null, forMs: null, author: 'a', reason: 'x\n{"level":"fatal"}' }],
    ['a control character', { accountId: null, forMs: null, author: 'a\u001b[31m', reason: 'x' }],
    ['a time that is over', { accountId: null, forMs: 0, ...BY }],
    ['a time as a text', { accountId: null, forMs: '1h', ...BY }],
    ['a key more', { accountId: null, forMs: null, ...BY, everything: true }],
    ['no scope', { forMs: null, ...BY }],
    ['a list', []],
    ['a text', '"pause"'],
    ['nothing', ''],
    ['no JSON', '{"accountId":'],
    ['a prototype', '{"__proto__":{"author":"a"},"accountId":null}'],
  ])('a pause with %s is refused', async (_what, body) => {
    const { server, state } = await start();
    const answer = await ask(server, '/api/v1/pauses', asControl(body));
    expect(answer).toMatchObject({ status: 400 });
    expect(errorReply.safeParse(answer.json).success).toBe(true);
    expect(await state.controls.list()).toEqual([]);
  });

  test('a lift that took effect, and whose answer was lost, is said to have lifted', async () => {
    const { controls } = createMemoryState({ clock: systemClock });
    const { id } = await controls.put({ kind: 'pause', accountId: null, expiresAtMs: null, ...BY });
    let isLost = false;
    const lift: typeof controls.lift = async (...what) => {
      const lifted = await controls.lift(...what);
      if (isLost) return lifted;
      isLost = true;
      throw new Error('Connection is closed.');
    };
    const { server } = await start({
      process: { goesAlone: true },
      sources: {
        controls: {
          lift,
          put: (draft) => controls.put(draft),
          list: () => controls.list(),
          submit: (...order) => controls.submit(...order),
          answer: (...answer) => controls.answer(...answer),
        },
      },
    });
    const lifted = await ask(server, `/api/v1/pauses/${id}`, { ...asControl(BY), method: 'DELETE' });
    expect(expectReply('resume', lifted)).toMatchObject({ lifted: [{ id }] });
    expect(await controls.list()).toEqual([]);
    const again = await ask(server, `/api/v1/pauses/${id}`, { ...asControl(BY), method: 'DELETE' });
    expect(again).toMatchObject({ status: 404 });
  });

  test("an answer that took effect, and whose reply was lost, is not called somebody else's", async () => {
    const { controls } = createMemoryState({ clock: systemClock });
    let tries = 0;
    const { server } = await start({
      process: { goesAlone: true },
      sources: {
        controls: {
          lift: (...what) => controls.lift(...what),
          put: (draft) => controls.put(draft),
          list: () => controls.list(),
          submit: (...order) => controls.submit(...order),
          answer: async (_id, { author, decision }) => {
            tries += 1;
            if (tries === 1) throw new Error('Connection is closed.');
            return { kind: 'answered', author, decision, atMs: 1 };
          },
        },
      },
    });
    const body = { reference: '4c604367-1', decision: 'approve', ...BY };
    const answered = await ask(server, '/api/v1/accounts/desk-1/answers', asControl(body));
    expect([tries, answered.status, answered.json]).toMatchObject([2, 503, { error: { code: 'stateLost' } }]);
  });

  test('when the store is lost no success is reported', async () => {
    const { server } = await start({
      sources: {
        controls: {
          put: () => Promise.reject(new Error('Connection is closed.')),
          lift: () => Promise.reject(new Error('Connection is closed.')),
          list: () => Promise.reject(new Error('Connection is closed.')),
          submit: () => Promise.reject(new Error('Connection is closed.')),
          answer: () => Promise.reject(new Error('Connection is closed.')),
        },
      },
    });
    const put = await ask(server, '/api/v1/pauses', asControl({ accountId: null, forMs: null, ...BY }));
    expect([put.status, put.json]).toMatchObject([503, { error: { code: 'stateLost' } }]);
    expectReply('getOverview', await ask(server, '/api/v1/overview'));
  });
});

describe('a top-up', () => {
  const offer = {
    tickers: ['USD', 'EUR'],
    minAmount: '10' as DecimalString,
    maxAmount: '5000' as DecimalString,
  };
  const subject = 'creditLine:USDT@1700000000';
  const url = '/api/v1/accounts/desk-1/top-ups';

  test('is offered if configured, and makes a link', async () => {
    const { server, topUps } = await start({ offer });
    expect(expectReply('getTopUpOffer', await ask(server, url))).toEqual({ offer });
    const made = await ask(server, url, asControl({ subject, amount: '99.5', author: 'ann' }));
    expect(expectReply('topUp', made)).toEqual({
      url: 'https://pay.example/99.5',
      uniqueId: 'bw-1',
      opensWith: 'referrer',
    });
    const order = { accountId: 'desk-1', subject, ticker: 'USD', amount: '99.5' };
    expect(topUps).toEqual([{ ...order, author: SIGNED }]);
    expect((await ask(server, '/api/v1/overview')).json).toMatchObject({ may: { topUp: true } });
  });

  test('is not offered otherwise', async () => {
    const { server } = await start();
    expect(expectReply('getTopUpOffer', await ask(server, url))).toEqual({ offer: null });
    const made = await ask(server, url, asControl({ subject, amount: '100' }));
    expect([made.status, made.json]).toMatchObject([404, { error: { code: 'notOffered' } }]);
  });

  test.each([
    [{ amount: '0' }, 'above 0'],
    [{ amount: '0.00' }, 'above 0'],
    [{ amount: '-5' }, 'an amount such as'],
    [{ amount: '1e3' }, 'an amount such as'],
    [{ amount: '9.99' }, 'at least 10 and at most 5000 USD'],
    [{ amount: '5000.01' }, 'at least 10 and at most 5000 USD'],
    [{ amount: 100 }, 'amount'],
    [{ amount: '100', ticker: 'GBP' }, 'USD, EUR'],
    [{ amount: '100', customer: { firstName: 'Eve' } }, 'customer'],
  ])('with %j is refused', async (body, words) => {
    const { server, topUps } = await start({ offer });
    const answer = await ask(server, url, asControl({ subject, ...body }));
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining(words)]);
    expect(topUps).toEqual([]);
  });

  test.each([
    [{ kind: 'refused', code: 'exchange', words: 'too little' }, 422, 'depositRefused'],
    [{ kind: 'refused', code: 'stateLost', words: 'not recorded' }, 503, 'depositRefused'],
    [{ kind: 'unknown', code: 'exchange', words: 'no answer' }, 502, 'depositUnknown'],
  ] as const)('that ends as %j is reported so', async (outcome, status, code) => {
    const { server } = await start({ offer, topUp: async () => outcome });
    const answer = await ask(server, url, asControl({ subject, amount: '100' }));
    expect([answer.status, answer.json]).toEqual([status, { error: { code, message: outcome.words } }]);
  });
});

describe('the description', () => {
  test('has every operation with its parameters, and every reference resolves', async () => {
    const { server } = await start();
    const answer = await ask(server, '/api/v1/openapi.json');
    const { openapi, paths, components } = answer.json as {
      openapi: string;
      paths: Record<
        string,
        Record<string, { operationId: string; parameters?: { name: string; in: string }[] }>
      >;
      components: { schemas: Record<string, unknown> };
    };
    expect([answer.status, openapi]).toEqual([200, '3.1.0']);
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { parameters = [] }]) => {
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(inPath);
        return `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
      }),
    );
    const served = (await server.routes())
      .filter(
        ({ url, method }) => url.startsWith('/api/') && method !== 'HEAD' && !url.endsWith('openapi.json'),
      )
      .map(({ method, url }) => `${method} ${url}`);
    expect(described.sort()).toEqual(served.sort());
    const references = [...answer.body.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name ?? '',
    );
    expect(references.length).toBeGreaterThan(20);
    for (const name of references) expect(components.schemas).toHaveProperty(name);
    expect(answer.body).not.toContain('$defs');
  });
});
