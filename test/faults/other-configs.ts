import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { TimedFault } from '../../src/world/spec.ts';
import { FAULTS, requestsOf } from './matrix.ts';
import { between, chance, type FaultWorld, pick, TROUBLED_MS } from './parts.ts';

/** Time that people have to answer. */
const ASKED_MS = 5_000;

/** Time that people have to answer before a rule acts, by a config. */
export function askedMs(config: string | undefined): number {
  return config?.includes('mode: approve') === true ? ASKED_MS : 0;
}

/**
 * In part of the worlds rules cancel in the whole account before they reduce, and all cancels of the spared account may
 * fail, since no cancel may block its reductions. In half of them the config uses a feature that other worlds do not.
 */
export function withOtherConfig(world: FaultWorld, random: SeededRandom): FaultWorld {
  const varied = chance(random, 0.5) ? pick(random, CHANGES)(world) : world;
  if (!chance(random, 0.4)) return varied;
  const types = pick(random, ['[spot]', '[spot, margin, futures]']);
  const cancel = `{ cancelAll: { types: ${types}, scope: account } }`;
  const wide = changed(varied, (config) =>
    config
      .replaceAll('{ cancelAll: { types: [margin, futures], scope: market } }', cancel)
      .replaceAll(/\{ reduce: \{ (untilDistance: 9%|by: 30%|until: )/g, `${cancel}, $&`),
  );
  return world.sparesSecond && chance(random, 0.7) ? withCancelsFailing(wide, random) : wide;
}

/** Changes one config into another; returns it unchanged if it lacks the part. */
type Change = (config: string) => string;

const CREDIT_LINE_RULE = `  - id: line
    on: creditLine
    when: { currentLtv: { above: 26% } }
    do: [{ cancelAll: { types: [spot, margin, futures], scope: account } }, { reduce: { by: 25%, slippage: 1%, positions: "*" } }]
`;
const LADDER = '[{ at: 70%, close: 30% }, { at: 85%, close: 40% }, { at: 95%, close: rest }]';

function withRule(config: string, rule: string): string {
  return config.replaceAll(/\brules: \[([a-z, ]+)\]/g, (text, ids: string) =>
    ids.split(', ').includes(rule) ? text : `rules: [${ids}, ${rule}]`,
  );
}

const CHANGES: readonly ((world: FaultWorld) => FaultWorld)[] = [
  ...[
    (config: string) =>
      withRule(config.replace('protect: { at: 80%', `protect: { ladder: ${LADDER}`), 'standing'),
    (config: string) => config.replace('acting: { ', 'acting: { cancel: never, '),
    (config: string) =>
      config
        .replace('reduce: { by: 30%', 'reduce: { until: { jointDistance: 8% }')
        .replaceAll(/\brules: \[[a-z, ]+\]/g, 'rules: [account]'),
    (config: string) =>
      config.replaceAll(
        'severity: critical\n',
        'severity: critical\n    limits: { cooldown: 5s, perHour: 4 }\n',
      ),
    (config: string) =>
      config.replace(
        'mode: enforce\n',
        `mode: approve\napproval: { within: ${ASKED_MS}ms, withoutAnswer: act }\n`,
      ),
  ].map((change) => (world: FaultWorld) => changed(world, change)),
  (world) => withLoan(changed(world, (config) => withRule(`${config}${CREDIT_LINE_RULE}`, 'line'))),
];

/** At 25 % of its collateral's worth, so that it exceeds 26 % when the market falls. */
const LOAN = { asset: 'USDT', amount: '3000', collateralAsset: 'BTC', collateralAmount: '0.2' } as const;

function withLoan(world: FaultWorld): FaultWorld {
  const { spec } = world;
  const [first, ...others] = spec.exchange.accounts;
  // Accounts as people have them have loans of their own.
  if (first === undefined || spec.exchange.markets !== undefined) return world;
  const accounts = [{ ...first, loans: [LOAN] }, ...others];
  return { ...world, spec: { ...spec, exchange: { ...spec.exchange, accounts } } };
}

/** Configs that are reloaded during the world change in the same way. */
function changed(world: FaultWorld, change: Change): FaultWorld {
  const spec: FaultWorld['spec'] = JSON.parse(JSON.stringify(world.spec), (key, value: unknown) =>
    key === 'config' && typeof value === 'string' ? change(value) : value,
  );
  return { ...world, spec };
}

/** A gateway's 429 applies to the whole address: it pauses the polls of every account. */
const OF_ADDRESS = 'gateway 429';
const OF_CANCELS = Object.keys(FAULTS).filter(
  (fault) => fault !== OF_ADDRESS && requestsOf(fault).includes('cancelAll'),
);

function withCancelsFailing(world: FaultWorld, random: SeededRandom): FaultWorld {
  const { spec, second, pairs } = world;
  const name = pick(random, OF_CANCELS);
  const effect = FAULTS[name];
  if (effect === undefined) throw new RangeError(`there is no fault ${name}`);
  const atMs = between(random, 0, 5_000);
  const target = { endpoint: 'cancelAll', account: second };
  const fault: TimedFault = { atMs, untilMs: TROUBLED_MS, fault: { effect, target } };
  return {
    ...world,
    spec: { ...spec, faults: [...(spec.faults ?? []), fault] },
    pairs: [...pairs, [name, 'cancelAll']],
  };
}
