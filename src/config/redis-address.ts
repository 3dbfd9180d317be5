export interface RedisAddress {
  readonly tls: boolean;
  /** The server; with `primary` the Sentinels, with `isCluster` some nodes, in the order in which they are asked. */
  readonly hosts: readonly RedisHost[];
  /** Present: a Unix socket of this machine instead of hosts. */
  readonly socketPath?: string;
  /** The Sentinels' name of the primary. */
  readonly primary?: string;
  /** Present: the hosts are nodes of a Redis Cluster. */
  readonly isCluster?: true;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  /** Address family to use for host names; absent: either. */
  readonly family?: 4 | 6;
}

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export type RedisAddressReading =
  | { readonly kind: 'address'; readonly address: RedisAddress }
  /** `got` completes "expected ..., got ..." without the text itself, which may hold a password. */
  | { readonly kind: 'none'; readonly got: string };

/** Completes "expected an address". */
export const REDIS_FORMS =
  'that starts with redis://, rediss:// or unix:///, or with +sentinel or +cluster before the colon';

export const REDIS_PATTERN = '^(unix:///|unix://[^/]*@/|rediss?(\\+sentinel|\\+cluster)?://)';

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;

const PARTS =
  /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^@/?#]*)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?(?:#.*)?$/;

const SOCKET = /^unix:\/\/(?:(?<login>[^/?#]*)@)?(?<socketPath>\/[^?#]+)(?:\?db=(?<database>[^#]*))?$/;

/**
 * Reads `unix://[user:password@]/path[?db=database]`, `redis[s]://[user:password@]host[:port][/database]`, `redis[s]+cluster://[user:password@]host[:port],...` and
 * `redis[s]+sentinel://[user:password@]host[:port],.../primary[/database]`. User and password are percent-encoded. In
 * the query only `family=4` and `family=6` count.
 */
export function readRedisAddress(text: string): RedisAddressReading {
  const socket = SOCKET.exec(text)?.groups;
  if (socket !== undefined) return readSocket(socket);
  const { scheme, kind, login, hosts = '', path = '', query = '' } = PARTS.exec(text)?.groups ?? {};
  if (scheme === undefined) return none('another text');
  const isSentinel = kind === 'sentinel';
  const who = readLogin(login);
  if (who === undefined) return none(BAD_LOGIN);
  const servers = hosts.split(',').map((host) => readHost(host, isSentinel ? SENTINEL_PORT : REDIS_PORT));
  if (!servers.every((host) => host !== undefined)) return none('one without a host, or with a wrong port');
  if (servers.length > 1 && kind === undefined) {
    return none('one with several hosts but without +sentinel or +cluster');
  }
  const parts = path.split('/');
  const primary = isSentinel ? parts.shift() : undefined;
  if (isSentinel && !/^[\w.-]+$/.test(primary ?? '')) {
    return none('one without the name of the primary behind its hosts');
  }
  const database = readDatabase(parts);
  if (database === undefined) return none(BAD_DATABASE);
  if (kind === 'cluster' && database !== 0)
    return none('one with a database, of which a cluster has none but 0');
  const family = /(?:^|&)family=([46])(?:&|$)/.exec(query)?.[1];
  return {
    kind: 'address',
    address: {
      tls: scheme === 'rediss',
      hosts: servers,
      ...(primary === undefined ? {} : { primary }),
      ...(kind === 'cluster' ? { isCluster: true } : {}),
      ...who,
      database,
      ...(family === undefined ? {} : { family: family === '4' ? 4 : 6 }),
    },
  };
}

function readSocket({ login, socketPath = '', database: text }: NamedGroups): RedisAddressReading {
  const [who, database] = [readLogin(login), readDatabase([text])];
  if (who === undefined) return none(BAD_LOGIN);
  if (database === undefined) return none(BAD_DATABASE);
  return { kind: 'address', address: { tls: false, hosts: [], socketPath, ...who, database } };
}

type NamedGroups = Readonly<Record<string, string | undefined>>;

const BAD_LOGIN = 'a user or password that is not percent-encoded';
const BAD_DATABASE = 'one whose database is no number';

function none(got: string): RedisAddressReading {
  return { kind: 'none', got };
}

/** Returns undefined if the login cannot be decoded. */
function readLogin(login = ''): Pick<RedisAddress, 'username' | 'password'> | undefined {
  const [user = '', ...rest] = login.split(':');
  try {
    const username = decodeURIComponent(user);
    const password = decodeURIComponent(rest.join(':'));
    return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
  } catch {
    return undefined;
  }
}

const HOST = /^(?:\[(?<six>[\da-fA-F:.]+)\]|(?<name>[^\s:[\]]+))(?::(?<port>\d{1,5}))?$/;

function readHost(text: string, standardPort: number): RedisHost | undefined {
  const { six, name, port } = HOST.exec(text)?.groups ?? {};
  const host = six ?? name;
  const number = port === undefined ? standardPort : Number(port);
  return host === undefined || number < 1 || number > 65_535 ? undefined : { host, port: number };
}

function readDatabase([text = '', ...more]: readonly (string | undefined)[]): number | undefined {
  if (more.some((part) => part !== '') || !/^\d{0,6}$/.test(text)) return undefined;
  return Number(text);
}

/** Formats an address for people, without user and password. */
export function showRedisAddress(address: RedisAddress): string {
  const { tls, hosts, socketPath, primary, isCluster, database } = address;
  if (socketPath !== undefined) return `unix://${socketPath}${database === 0 ? '' : `?db=${database}`}`;
  const kind = isCluster === true ? '+cluster' : primary === undefined ? '' : '+sentinel';
  const scheme = `${tls ? 'rediss' : 'redis'}${kind}`;
  const shown = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  const path = [...(primary === undefined ? [] : [primary]), ...(database === 0 ? [] : [database])];
  return [`${scheme}://${shown.join(',')}`, ...path].join('/');
}

/**
 * Returns the prefix of all keys. In a cluster it is their hash tag, so that all keys of one installation lie in one
 * slot, which one server holds at a time.
 */
export function prefixAt({ isCluster }: Pick<RedisAddress, 'isCluster'>, prefix: string): string {
  const name = prefix.replace(/^\{(.*)\}$/, '$1');
  return isCluster === true ? `{${name}}` : name;
}
