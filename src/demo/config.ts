import { DEFAULT_RATE_LIMITS } from '../exchange/limits/rate-limit-table.ts';
import { marketYaml, PROTECTED, TWIN } from './accounts.ts';

/** The distance to liquidation at which the rule fires, as a fraction of the mark price. */
export const FIRES_BELOW = 0.05;

export interface DemoConfig {
  readonly baseUrls: readonly string[];
  readonly redis?: { readonly url: string; readonly prefix: string };
  /** Exchange time per real time: every duration of the config is divided by it. */
  readonly speed: number;
}

/** The environment variable that holds an account's key or secret. */
export function secretName(kind: 'KEY' | 'SECRET', accountId: string): string {
  return `DEMO_${kind}_${accountId.toUpperCase()}`;
}

/** The config of the demo's daemon. Its durations follow the speed of the exchange's time. */
export function demoConfigText({ baseUrls, redis, speed }: DemoConfig): string {
  const scaled = (seconds: number): string => `${Math.max(1, Math.round((seconds * 1000) / speed))}ms`;
  return `mode: enforce
exchange:
  baseUrls: ${JSON.stringify(baseUrls)}
  lateArrival: ${scaled(5)}
  timeouts: { attempt: ${scaled(60)}, call: ${scaled(300)} }
  limits:
${limitsYaml(scaled)}
${redis === undefined ? '' : redisYaml(redis)}cadence: { calm: ${scaled(2)}, alert: ${scaled(1)} }
acting:
  cancel: always
  fillWithin: ${scaled(3)}
  maxOrderReadAge: ${scaled(2)}
  intentTtl: ${scaled(600)}
  maxSnapshotAge: ${scaled(15)}
notify: { remindEvery: ${scaled(1_800)}, groupWait: ${scaled(10)} }
# Any free port: another daemon may run on this machine.
web: { port: 0 }
markets:
${marketYaml()}
accounts:
${accountYaml(PROTECTED, 'enforce')}
${accountYaml(TWIN, 'observe')}
rules:
  - id: high-leverage
    on: position
    when: { liquidationDistance: { below: ${FIRES_BELOW}, clearAbove: 9% } }
    do:
      - notify: {}
      - reduce: { untilDistance: 15%, slippage: [2%, 4%] }
    limits: { cooldown: ${scaled(10)} }
    severity: critical
`;
}

/** It is on this machine only, and gone when the demo ends. */
function redisYaml({ url, prefix }: NonNullable<DemoConfig['redis']>): string {
  return `insecure: [redis]\nredis: { url: "${url}", prefix: "${prefix}" }\n`;
}

/** Request budgets are per time, too. */
function limitsYaml(scaled: (seconds: number) => string): string {
  return Object.entries(DEFAULT_RATE_LIMITS)
    .map(([name, { periodMs }]) => `    ${name}: { period: ${scaled(periodMs / 1000)} }`)
    .join('\n');
}

function accountYaml(id: string, mode: 'enforce' | 'observe'): string {
  return `  - id: ${id}
    mode: ${mode}
    apiKey: { env: ${secretName('KEY', id)} }
    apiSecret: { env: ${secretName('SECRET', id)} }
    rules: [high-leverage]`;
}
