import { isLoopback } from '../../core/text/loopback.ts';
import type { UncheckedConfig } from '../compile-config.ts';
import type { CompiledConfig } from '../compiled-config.ts';
import type { Exposure } from '../exposures.ts';
import type { Path, Problem, ProblemCode } from '../problem.ts';
import { readRedisAddress } from '../redis-address.ts';
import type { Secret } from '../secret.ts';
import { problemAt, warningAt } from '../shape/read.ts';
import { nodeAt } from '../yaml/document.ts';
import { mayAct } from './accounts.ts';

interface Exposed {
  readonly exposure: Exposure;
  readonly path: Path;
  readonly message: string;
  readonly code?: ProblemCode;
}

/**
 * Finds secrets and messages that cross a network in plain text, and a Redis that anybody may write to. These are
 * errors; the loader lowers them to warnings if no account acts.
 */
export function exposureProblems(config: UncheckedConfig): readonly Problem[] {
  return [
    ...ofExchange(config),
    ...ofRedis(config),
    ...ofChannels(config),
    ...ofHeartbeat(config),
    ...ofWeb(config),
  ]
    .filter(({ exposure }) => !config.insecure.includes(exposure))
    .map(({ exposure, path, message, code = 'unencrypted' }) => {
      const cure = `on a private network, insecure: [${exposure}] allows it`;
      return problemAt(config.document, path, { code, message: `${message}; ${cure}` });
    });
}

function ofExchange({ exchange, egress, document }: UncheckedConfig): readonly Exposed[] {
  const proxies: readonly (readonly [Path, Secret | undefined])[] = [
    [['exchange', 'proxy'], exchange.proxy],
    ...Object.entries(egress).map(([group, { proxy }]) => [['egress', group, 'proxy'], proxy] as const),
  ];
  // A group without a proxy has that of the exchange, which is checked above.
  const written = proxies.filter(([path]) => nodeAt(document.root, path) !== undefined);
  return [
    ...exchange.baseUrls.flatMap((url, index) =>
      inPlain('exchange', ['exchange', 'baseUrls', index], url, 'the API key travels readably'),
    ),
    ...written.flatMap(([path, proxy]) => byProxy('exchange', path, proxy)),
  ];
}

/** Finds an address that is reached in plain text. `harm` describes the consequence. */
function inPlain(
  exposure: Exposure,
  path: Path,
  address: string | Secret | undefined,
  harm: string,
): readonly Exposed[] {
  return isPlain(address) ? [{ exposure, path, message: `${PLAIN}: ${harm}` }] : [];
}

function byProxy(exposure: Exposure, path: Path, proxy: Secret | undefined): readonly Exposed[] {
  return sendsPassword(proxy) ? [{ exposure, path, message: PROXY }] : [];
}

function ofRedis({ redis, accounts }: UncheckedConfig): readonly Exposed[] {
  if (redis === undefined) return [];
  const reading = readRedisAddress(redis.url.reveal());
  if (reading.kind === 'none') return [];
  const { tls, hosts, socketPath, primary, isCluster = false, password } = reading.address;
  // The socket's permissions decide who can connect.
  if (socketPath !== undefined) return [];
  // Local Sentinels and cluster nodes may name a server on another machine.
  const isOne = primary === undefined && !isCluster;
  const isNear = isOne && hosts.every(({ host }) => isLoopback(host));
  const found: Exposed[] = [];
  const shared = { exposure: 'redis', path: ['redis', 'url'] } as const;
  if (!tls && !isNear) {
    const kind = isOne ? '' : isCluster ? '+cluster' : '+sentinel';
    const message = `expected rediss${kind}:// beyond this machine, got redis${kind}://: password and state travel readably, and can be changed on the way`;
    found.push({ ...shared, message });
  }
  // A local Redis needs a password only if an account acts.
  if (password === undefined && (!isNear || accounts.some(mayAct))) {
    const message =
      'expected an address with a password (as a reference), got one without: whoever can connect can change what it keeps there';
    found.push({ ...shared, message, code: 'redis-without-password' });
  }
  return found;
}

function ofChannels({ channels }: UncheckedConfig): readonly Exposed[] {
  return channels.flatMap((channel) => {
    const path = ['channels', channel.name];
    return [
      ...addressesOf(channel).flatMap(([key, url]) =>
        inPlain('channels', [...path, ...key], url, 'messages and tokens travel readably'),
      ),
      ...byProxy('channels', [...path, 'proxy'], channel.proxy),
    ];
  });
}

function addressesOf(
  channel: UncheckedConfig['channels'][number],
): readonly (readonly [Path, string | Secret | undefined])[] {
  switch (channel.type) {
    case 'telegram':
    case 'pagerduty':
    case 'opsgenie':
      return [[['api'], channel.apiUrl]];
    case 'ntfy':
      return [[['server'], channel.serverUrl]];
    // The mail channel requires TLS, except on this machine.
    case 'email':
      return [];
    case 'alertmanager':
      return channel.urls.map((url, index) => [['urls', index], url] as const);
    default:
      return [[['url'], channel.url]];
  }
}

function ofHeartbeat({ heartbeat }: UncheckedConfig): readonly Exposed[] {
  const harm = 'its address and the ids of accounts travel readably';
  return [
    ...inPlain('channels', ['heartbeat', 'url'], heartbeat?.url, harm),
    ...byProxy('channels', ['heartbeat', 'proxy'], heartbeat?.proxy),
  ];
}

function ofWeb({ web: { host, publicUrl } }: UncheckedConfig): readonly Exposed[] {
  const message = `expected a loopback address (a proxy in front ends TLS), got ${host}: tokens travel readably`;
  return [
    ...(isLoopback(host) ? [] : [{ exposure: 'web', path: ['web', 'host'], message } as const]),
    ...inPlain('web', ['web', 'publicUrl'], publicUrl, 'tokens travel readably'),
  ];
}

/** Without certificate checks anybody on the path can answer as the other side: no encrypted address is worth more. */
export function tlsProblems(
  { document, exchange, redis, channels, heartbeat }: UncheckedConfig,
  env: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return [];
  const isHttps = (address: string | Secret | undefined): boolean => parsed(address)?.protocol === 'https:';
  const store = redis && readRedisAddress(redis.url.reveal());
  const encrypted: readonly (readonly [Path, boolean])[] = [
    [['exchange', 'baseUrls'], exchange.baseUrls.some(isHttps)],
    [['redis', 'url'], store?.kind === 'address' && store.address.tls],
    ...channels.map(
      (channel) =>
        [
          ['channels', channel.name],
          channel.type === 'email' || addressesOf(channel).some(([, url]) => isHttps(url)),
        ] as const,
    ),
    [['heartbeat', 'url'], isHttps(heartbeat?.url)],
  ];
  const path = encrypted.find(([, isEncrypted]) => isEncrypted)?.[0];
  return path === undefined ? [] : [problemAt(document, path, { code: 'unencrypted', message: UNCHECKED })];
}

const UNCHECKED =
  'expected certificates to be checked, got NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment: remove it, and name an authority of your own in exchange.ca or redis.ca, or in NODE_EXTRA_CA_CERTS';

/** Warns of loopback addresses of proxies: every program on this machine can connect from them. */
export function proxyWarnings({ web, document }: UncheckedConfig): readonly Problem[] {
  const { identityHeader, trustedProxies } = web;
  if (identityHeader === undefined) return [];
  return trustedProxies.flatMap((proxy, index) => {
    const [address = ''] = proxy.split('/');
    if (!isLoopback(address)) return [];
    const message = `expected an address that only the proxy has, got ${proxy}: every user of this machine can pose as anybody in ${identityHeader}. Give the proxy an address of its own, or users tokens`;
    const path = ['web', 'trustedProxies', index];
    return [warningAt(document, path, 'anybody-is-the-proxy', message)];
  });
}

const PLAIN = 'expected https:// beyond this machine, got http://';
const PROXY = 'expected https:// for a proxy with a password, got http://: the password travels readably';

/** Returns undefined for a missing secret, which is empty, and for an invalid address, which is reported elsewhere. */
function parsed(address: string | Secret | undefined): URL | undefined {
  const text = typeof address === 'object' ? address.reveal() : (address ?? '');
  return URL.canParse(text) ? new URL(text) : undefined;
}

function isPlain(address: string | Secret | undefined): boolean {
  const url = parsed(address);
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
}

function sendsPassword(address: Secret | undefined): boolean {
  return isPlain(address) && parsed(address)?.password !== '';
}

/** Returns the severity of a Redis without a password. */
export function openRedisLevel(
  config: Pick<CompiledConfig, 'accounts' | 'insecure'>,
): 'ok' | 'warning' | 'error' {
  if (config.insecure.includes('redis')) return 'ok';
  return config.accounts.some(mayAct) ? 'error' : 'warning';
}
