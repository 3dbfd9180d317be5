import type { CompiledConfig } from '../../src/config/compiled-config.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import type { Instant } from '../../src/core/quantities/snapshot.ts';
import { emptyAccountState } from '../../src/core/rules/account-state.ts';
import { type CompiledRules, compileRules } from '../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../src/core/rules/evaluate.ts';
import { figuresOf } from '../../src/core/view/stored-figures.ts';
import type { State } from '../../src/state/state.ts';
import { creditLine, d, list, position } from '../core/rules/fixtures.ts';
import { configText, OPERATORS_KEY } from '../daemon/config.ts';

/** Many accounts as polls leave them in the store, without any polls. */

export const FLEET_RULES = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 12% } }
    do: [{ notify: { channels: [log] } }, { reduce: { untilDistance: 25%, slippage: 1% } }]
  - id: likely
    on: position
    when: { liquidationProbability: { within: 1h, above: 10% } }
    do: [{ notify: { channels: [log] } }]
  - id: open
    on: position
    when: { unprotectedSeconds: { above: 60 } }
    do: [{ notify: { channels: [log] } }]
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 70% } }
    do: [{ notify: { channels: [log], cure: [50%] } }]
  - id: blind
    on: account
    when: { dataAge: { above: 30s } }
    do: [{ notify: { channels: [log] } }]
`;

/** Never called: a fleet has no polls. */
const NOWHERE = { baseUrl: 'http://127.0.0.1:9' };

export function fleetConfig(
  ids: readonly string[],
  redis: { readonly url: string; readonly prefix: string },
) {
  const rules = ['near', 'likely', 'open', 'ltv', 'blind'];
  const accounts = Object.fromEntries(ids.map((id) => [id, { rules }]));
  const text = configText(NOWHERE, { accounts, rules: FLEET_RULES, redis });
  const keys = Object.fromEntries(
    ids.flatMap((id) => {
      const name = id.replaceAll('-', '_');
      return [
        [`KEY_${name}`, `key-of-${id}`],
        [`SECRET_${name}`, `secret-of-${id}-0123456789`],
      ];
    }),
  );
  return { text, env: { OPERATORS_KEY, ...keys } };
}

const MARKETS = ['BTC_PERP', 'ETH_PERP'];

/** One account after enough polls for its forecasts, the last one now. */
function judged(accountId: string, rules: CompiledRules, positions: number, nowMs: number) {
  let state = emptyAccountState(accountId);
  let figures = undefined as ReturnType<typeof figuresOf> | undefined;
  const polls = 45;
  for (let poll = 0; poll < polls; poll += 1) {
    const wallMs = nowMs - (polls - 1 - poll) * 1_000;
    const at: Instant = { wallMs, monotonicMs: wallMs, clockId: 'fleet' };
    const records = Array.from({ length: positions }, (_, index) =>
      position({
        positionId: String(1_000_000 + index),
        market: MARKETS[index % MARKETS.length]!,
        basePrice: d('24149.24512'),
        unrealizedPnl: d((-0.10815 + Math.sin(poll + index)).toFixed(5)),
        liquidationPrice: d(index === 0 ? '23059.02' : '17059.02'),
      }),
    );
    const read = <T>(value: T) => ({ kind: 'read', value, ageMs: 40, serverDateMs: wallMs }) as const;
    const ltv = d((60 + Math.sin(poll)).toFixed(2));
    const sources = {
      positions: read(list(records)),
      creditLine: read(list([creditLine({ currentLtv: ltv })])),
    };
    const snapshot = { version: 1, accountId, at, sources, ownStops: [] } as const;
    ({ state } = evaluate({ snapshot, state, now: at }, rules));
    figures = figuresOf(snapshot, rules.settings);
  }
  return { evaluation: state, figures: figures! };
}

/** Stores every account of the config with that many positions, a credit line, and firing rules. */
export async function writeFleet(
  { store }: State,
  config: Pick<CompiledConfig, 'accounts'>,
  positions: number,
  nowMs: number,
): Promise<void> {
  const [first] = config.accounts;
  const documents = judged(first!.id, compileRules(first!.rules, first!.settings), positions, nowMs);
  for (const [bucket, accounts] of Map.groupBy(config.accounts, ({ id }) => bucketOf(id))) {
    const ids = accounts.map(({ id }) => id);
    const view = await store.readBucket(bucket, ids);
    const changes = view.accounts.map((found) => {
      if (found.kind !== 'loaded') throw new Error(found.problem.message);
      const { accountId } = found.account;
      return {
        base: found.account,
        documents: { ...documents, evaluation: { ...documents.evaluation, accountId } },
        due: { inMs: 60_000, danger: 1 },
      };
    });
    for (const { kind } of await store.commit(changes)) {
      if (kind !== 'committed') throw new Error(`a commit ended as ${kind}`);
    }
  }
}
