import { DEFAULT_RATE_LIMITS } from '../exchange/limits/rate-limit-table.ts';
import type { MarketSpec } from '../simulator/model/types.ts';
import { type DemoCharacter, twinOf } from './accounts.ts';
import { marketYaml } from './market.ts';

/** Where the first rule fires, as a fraction of the mark price; its breaches are what is timed. */
export const FIRES_BELOW = 0.05;
/** Where the standing stop is put, as a part of the way from the mark price to the liquidation price. */
export const COVER_AT = 0.8;

export interface DemoConfig {
  readonly baseUrls: readonly string[];
  readonly redis: { readonly url: string; readonly prefix: string };
  readonly characters: readonly DemoCharacter[];
  readonly market: MarketSpec;
  /** Exchange time per real time: every duration is divided by it. */
  readonly speed: number;
}

/** Names of environment variables that hold an account's keys. */
export function secretNames(accountId: string): { readonly key: string; readonly secret: string } {
  const name = accountId.toUpperCase().replaceAll('-', '_');
  return { key: `DEMO_KEY_${name}`, secret: `DEMO_SECRET_${name}` };
}

/** The demo's config: every duration divided by the speed of the exchange's time. */
export function demoConfigText(config: DemoConfig): string {
  const { baseUrls, redis, characters, market } = config;
  const scaled = (seconds: number): string => `${Math.max(1, Math.round((seconds * 1000) / config.speed))}ms`;
  const accounts = characters.flatMap((character) => [
    accountYaml(character, character.id, 'enforce', ''),
    accountYaml(
      character,
      twinOf(character.id),
      'observe',
      `    cadence: { calm: ${scaled(30)}, alert: ${scaled(30)} }\n`,
    ),
  ]);
  return `mode: enforce
# On this machine only, and gone when the demo ends.
insecure: [redis]
exchange:
  baseUrls: ${JSON.stringify(baseUrls)}
  lateArrival: ${scaled(5)}
  timeouts: { attempt: ${scaled(60)}, call: ${scaled(300)} }
  limits:
${limitsYaml(scaled)}
redis: { url: "${redis.url}", prefix: "${redis.prefix}" }
cadence: { calm: ${scaled(2)}, alert: ${scaled(1)} }
acting:
  cancel: always
  fillWithin: ${scaled(3)}
  maxOrderReadAge: ${scaled(2)}
  intentTtl: ${scaled(600)}
  maxSnapshotAge: ${scaled(15)}
notify: { remindEvery: ${scaled(1_800)} }
# Any free port: another daemon may run on this machine.
web: { port: 0 }
markets:
${marketYaml(market)}
accounts:
${accounts.join('')}
rules:
${rulesYaml(scaled)}`;
}

/** Budgets of requests are per time too. */
function limitsYaml(scaled: (seconds: number) => string): string {
  return Object.entries(DEFAULT_RATE_LIMITS)
    .map(([name, { periodMs }]) => `    ${name}: { period: ${scaled(periodMs / 1000)} }`)
    .join('\n');
}

function accountYaml(
  { kind, covered }: DemoCharacter,
  id: string,
  mode: 'enforce' | 'observe',
  more: string,
): string {
  const { key, secret } = secretNames(id);
  const rules = kind === 'borrower' ? 'ltv-high' : `high-leverage, last-line${covered ? ', cover' : ''}`;
  return `  - id: ${id}
    mode: ${mode}
    apiKey: { env: ${key} }
    apiSecret: { env: ${secret} }
    rules: [${rules}]
${more}`;
}

/** A leg that its other side outweighs reports a price of liquidation where it earns: no rule is about that. */
function rulesYaml(scaled: (seconds: number) => string): string {
  return `  - id: high-leverage
    on: position
    when: { liquidationDistance: { below: ${FIRES_BELOW}, clearAbove: 9% }, disagreement: false }
    do:
      - notify: {}
      - reduce: { untilDistance: 15%, slippage: [2%, 4%] }
    limits: { cooldown: ${scaled(10)} }
    severity: critical
  # Without a cooldown: the next wave may come at once.
  - id: last-line
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 5% }, disagreement: false }
    do:
      - notify: {}
      - reduce: { untilDistance: 12%, slippage: [3%, 5%] }
    severity: critical
  # Stays in the exchange's book when this daemon is gone.
  - id: cover
    on: position
    when: { size: { above: 0 } }
    do:
      - protect: { at: ${COVER_AT}, slippage: 3% }
    severity: info
  # A credit line can only be cured by a person: told while there is time.
  - id: ltv-high
    on: creditLine
    when: { ltvToMarginCall: { above: 92%, clearBelow: 88% } }
    keepFiringFor: ${scaled(60)}
    do:
      - notify: { cure: [65%, 60%] }
    severity: critical
`;
}
