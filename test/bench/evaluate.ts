import type { Snapshot } from '../../src/core/quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../../src/core/rules/account-state.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../src/core/rules/evaluate.ts';
import type { ConditionSpec, FieldParameter, RuleSpec } from '../../src/core/rules/rule.ts';
import {
  above,
  at,
  below,
  creditLine,
  d,
  list,
  position,
  read,
  rule,
  SETTINGS,
  snapshot,
} from '../core/rules/fixtures.ts';
import { positionsReply } from './replies.ts';
import { interleavedRounds, median, report } from './rounds.ts';

/**
 * A full evaluation of an account with 5 positions, 1 loan and 20 rules, as a multiple of parsing the replies it was
 * read from. Every evaluation sees new prices, so nothing can be reused from the previous one.
 */
const POLLS = 32;

const over = (field: string, parameter: FieldParameter, threshold: number): ConditionSpec => ({
  kind: 'field',
  field,
  parameter,
  comparison: { op: 'above', threshold },
});
const oneOf = (field: string, ...values: readonly (string | boolean)[]): ConditionSpec => ({
  kind: 'field',
  field,
  comparison: { op: 'in', values },
});

const positionConditions: readonly ConditionSpec[] = [
  below('liquidationDistance', 0.05, 0.07),
  below('liquidationDistance', 0.03),
  below('liquidationDistance', 0.01),
  { kind: 'all', conditions: [below('liquidationDistance', 0.1), above('marginUsage', 0.8)] },
  above('marginUsage', 0.9, 0.8),
  below('pnlPercent', -0.5),
  below('unrealizedPnl', -10_000),
  above('notional', 1_000_000),
  { kind: 'not', condition: oneOf('disagreement', false) },
  oneOf('liquidationState', 'margin_call', 'liquidation', 'unrecognised'),
  over('liquidationProbability', { windowMs: 3_600_000 }, 0.2),
  oneOf('stopCover', 'beyondLiquidation'),
  above('unprotectedSeconds', 600),
];
const loanConditions: readonly ConditionSpec[] = [
  above('currentLtv', 0.7),
  above('ltvToMarginCall', 0.9, 0.85),
  below('minutesToMarginCall', 120),
  below('collateralMayFall', 0.05),
];
const accountConditions: readonly ConditionSpec[] = [
  over('dataAge', {}, 30),
  over('mainBalance', { asset: 'USDT' }, 1_000_000),
  over('totalNotional', { asset: 'USDT' }, 10_000_000),
];
const specs: readonly RuleSpec[] = [
  ...positionConditions.map((when, index) =>
    rule('position', when, { id: `p${index}`, where: { market: ['*_PERP'] } }),
  ),
  ...loanConditions.map((when, index) => rule('creditLine', when, { id: `l${index}` })),
  ...accountConditions.map((when, index) => rule('account', when, { id: `a${index}` })),
];
if (specs.length !== 20) throw new Error('the measured account has 20 rules');
const rules = compileRules(specs, SETTINGS);

const markets = ['BTC_PERP', 'ETH_PERP', 'SOL_PERP', 'XRP_PERP', 'ADA_PERP'];
const loanReply = JSON.stringify({
  asset: 'USDT',
  amount: '1000.00000000',
  totalFunding: '8.12345678',
  currentLtv: '60.12',
  initialLtv: '65',
  marginCallLtv: '75',
  liquidationLtv: '85',
  createdAt: 1_700_000_000,
});
const balanceReply = JSON.stringify(
  Object.fromEntries(['USDT', 'BTC', 'ETH', 'EUR'].map((asset) => [asset, { main_balance: '123.45678901' }])),
);
const replies = [positionsReply(markets.length), loanReply, balanceReply];

/** Replies of successive polls; `wobble` scales how far prices and LTV move between them. */
const pollsOf = (wobble: number): readonly Snapshot[] =>
  Array.from({ length: POLLS }, (_, poll) =>
    snapshot({
      positions: read(
        list(
          markets.map((market, index) =>
            position({
              positionId: String(1000 + index),
              market,
              amount: d('0.075'),
              basePrice: d('24149.24512'),
              unrealizedPnl: d((-0.10815 + wobble * Math.sin(poll + index)).toFixed(5)),
              liquidationPrice: d('7059.02'),
              margin: d('4.86'),
              freeMargin: d('9.1571'),
              tpsl: { stopLossId: '1', stopLoss: d('20000'), takeProfitId: '2', takeProfit: d('50000') },
              positionSide: { known: true, value: 'LONG' },
            }),
          ),
        ),
      ),
      creditLine: read(list([creditLine({ currentLtv: d((60 + wobble * Math.sin(poll)).toFixed(4)) })])),
      mainBalance: read({ USDT: d('123.45678901'), BTC: d('1'), ETH: d('2'), EUR: d('3') }),
    }),
  );

class Watched {
  evaluations = 0;
  decisions = 0;
  requests = 0;
  readonly #polls: readonly Snapshot[];
  #state: AccountState = emptyAccountState('desk-1');
  #clockMs = 0;

  constructor(wobble: number) {
    this.#polls = pollsOf(wobble);
  }

  evaluate(): void {
    this.#clockMs += 1_000;
    const now = at(this.#clockMs);
    const polled = this.#polls[this.evaluations % POLLS];
    if (polled === undefined) throw new Error('no snapshot');
    const { state, decisions, active } = evaluate(
      { snapshot: { ...polled, at: now }, state: this.#state, now },
      rules,
    );
    this.#state = state;
    this.evaluations += 1;
    this.decisions += decisions.length;
    this.requests += active.length;
  }
}

/** In a calm market no rule fires; in a restless one the rules on forecasts do. */
const calm = new Watched(0.01);
const restless = new Watched(1);

const samples = await interleavedRounds(
  {
    parse: (calls) => {
      for (let call = 0; call < calls; call += 1) for (const reply of replies) JSON.parse(reply);
      return Promise.resolve();
    },
    calm: (calls) => {
      for (let call = 0; call < calls; call += 1) calm.evaluate();
      return Promise.resolve();
    },
    restless: (calls) => {
      for (let call = 0; call < calls; call += 1) restless.evaluate();
      return Promise.resolve();
    },
  },
  2_000,
  25,
);
const perCallUs = (name: keyof typeof samples): number =>
  median(samples[name].map(({ throughput }) => 1e6 / throughput));
report('evaluate: us per account with 5 positions, 1 loan, 20 rules', {
  calmUs: perCallUs('calm'),
  restlessUs: perCallUs('restless'),
  parseUs: perCallUs('parse'),
  replyBytes: replies.reduce((sum, reply) => sum + reply.length, 0),
  decisions: calm.decisions / calm.evaluations,
  requestsWhenCalm: calm.requests / calm.evaluations,
  requestsWhenRestless: restless.requests / restless.evaluations,
});
report('evaluate: as a multiple of parsing the replies', {
  calm: perCallUs('calm') / perCallUs('parse'),
  restless: perCallUs('restless') / perCallUs('parse'),
});
