import type { CompiledConfig } from '../../src/config/compiled-config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { nodeSurroundings } from '../../src/config/node-files.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';

/** A config for accounts of a simulated exchange, as a person would write it, with times short enough for tests. */
export interface RedisPart {
  readonly url: string;
  readonly prefix: string;
  /** Default: the daemon goes on without Redis. */
  readonly required?: boolean;
  /** Default: nothing is kept on disk. */
  readonly stateDir?: string;
}

export interface ConfigParts {
  readonly mode?: 'observe' | 'approve' | 'enforce';
  readonly exchange?: string;
  readonly acting?: string;
  readonly cadence?: string;
  /** A flow mapping; default: a free port. */
  readonly web?: string;
  /** Further sections. */
  readonly more?: string;
  readonly redis?: RedisPart;
  /** Rule ids per account, and further lines of the account, such as `mode: observe`. */
  readonly accounts: Readonly<Record<string, { readonly rules: readonly string[]; readonly more?: string }>>;
  /** YAML list items, indented by two. */
  readonly rules: string;
}

/** Seals operators' requests: the tests' Redis has no password. */
export const OPERATORS_KEY = 'planted-operators-key-for-tests-00000';

/** A critical rule that fires below 59,500: it notifies its channel, and the pager if nobody acknowledges. */
export function toldThenEscalated(receiverUrl: string, after: string): ConfigParts {
  return {
    accounts: { long: { rules: ['falls'] } },
    rules: `  - id: falls
    on: position
    severity: critical
    when: { markPrice: { below: 59500 } }
    do: [{ notify: { channels: [chat] } }]
`,
    more: `notify: { escalate: { after: ${after}, to: pager } }
channels:
  chat: { type: webhook, url: ${receiverUrl}/chat }
  pager: { type: webhook, url: ${receiverUrl}/pager }
`,
  };
}

export function configText(simulator: Pick<RunningSimulator, 'baseUrl'>, parts: ConfigParts): string {
  const accounts = Object.entries(parts.accounts).map(
    ([id, { rules, more = '' }]) => `  - id: ${id}
    apiKey: { env: KEY_${id.replaceAll('-', '_')} }
    apiSecret: { env: SECRET_${id.replaceAll('-', '_')} }
    rules: [${rules.join(', ')}]
${more}`,
  );
  const redis =
    parts.redis === undefined
      ? /^(redis|stateDir):/m.test(parts.more ?? '')
        ? ''
        : 'stateDir: state'
      : `redis: { url: "${parts.redis.url}", prefix: "${parts.redis.prefix}", required: ${parts.redis.required === true} }\n${parts.redis.stateDir === undefined ? '' : `stateDir: "${parts.redis.stateDir}"\n`}`;
  return `mode: ${parts.mode ?? 'enforce'}
insecure: [redis]
exchange:
  baseUrls: ["${simulator.baseUrl}"]
  lateArrival: 200ms
${parts.exchange ?? ''}
${redis}
web: ${parts.web ?? '{ port: 0 }'}
cadence: ${parts.cadence ?? '{ calm: 300ms, alert: 100ms }'}
acting: ${parts.acting ?? '{ fillWithin: 1s }'}
operators: { key: { env: OPERATORS_KEY } }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
  ETH_PERP: { amountStep: "0.001", priceStep: "0.01", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('\n')}
rules:
${parts.rules}
${parts.more ?? ''}`;
}

export function environment(simulator: Pick<RunningSimulator, 'accounts'>): Record<string, string> {
  return Object.fromEntries([
    ['OPERATORS_KEY', OPERATORS_KEY],
    ...simulator.accounts.flatMap(({ id, apiKey, apiSecret }) => [
      [`KEY_${id.replaceAll('-', '_')}`, apiKey],
      [`SECRET_${id.replaceAll('-', '_')}`, apiSecret],
    ]),
  ]);
}

/** The parsed config of a text. @throws its problems, in words, when it is refused */
export function loadText(text: string, env: Readonly<Record<string, string>>): CompiledConfig {
  const surroundings = nodeSurroundings({ OPERATORS_KEY, ...env });
  const loaded = loadConfig('test.yaml', {
    ...surroundings,
    readFile: (file) =>
      file === 'test.yaml'
        ? { kind: 'read', text, worldReadable: false, othersMayWrite: false }
        : surroundings.readFile(file),
  });
  if (loaded.kind === 'refused') {
    throw new Error(loaded.problems.map(({ place, message }) => `${place.line}: ${message}`).join('\n'));
  }
  return loaded.config;
}
