import type { Redis } from 'ioredis';
import type { QueueName } from '../core/ports/telemetry.ts';
import { singleAttempt } from './connection.ts';
import { queuePrefix } from './names.ts';

export type RedisAspect = 'access' | 'nodes' | 'version' | 'role' | 'eviction' | 'persistence' | 'timers';

export interface RedisFinding {
  readonly aspect: RedisAspect;
  /** An error keeps the daemon from starting. */
  readonly level: 'ok' | 'warning' | 'error';
  readonly words: string;
  readonly cure?: string;
}

/** Whether a Redis server meets what state and queues need to be safe in it. */
export interface RedisFindings {
  /**
   * One per aspect; in a cluster, the worst of any node (for `role`, that of the connected node). `nodes` appears only
   * for a cluster.
   */
  readonly findings: readonly RedisFinding[];
  /** Finding and cure in one text. These keep the daemon from starting. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly version: string;
  /** Whether `isRedisGuarded` holds for every node that answers. */
  readonly isGuarded: boolean;
}

const LEAST_VERSION = [6, 2] as const;
const LEAST_HZ = 50;

/** Redis replays its file as the user default, and throws away the transactions that this user may not do. */
const REPLAY_CURE =
  "give it rights and no way in, `user default off resetpass ~* &* +@all`, and the daemon's user +acl|dryrun";

type Texts = Readonly<Record<string, string | undefined>>;
type Verdict = Omit<RedisFinding, 'aspect'>;

/** The checks. Names with `_` come from INFO, names with `-` from CONFIG GET. */
const EXAMINATIONS: Readonly<Record<Exclude<RedisAspect, 'access' | 'nodes'>, (server: Texts) => Verdict>> = {
  version({ redis_version: version = '' }) {
    const words = `Redis is version ${version || 'unknown'}`;
    if (isOlder(version))
      return { level: 'error', words, cure: `${LEAST_VERSION.join('.')} or newer is needed` };
    return { level: 'ok', words };
  },
  role({ role = 'master' }) {
    if (role === 'master') return { level: 'ok', words: 'Redis is a primary' };
    return { level: 'error', words: 'Redis is a replica', cure: 'connect to the primary' };
  },
  eviction({ maxmemory_policy: told, 'maxmemory-policy': set }) {
    const policy = told ?? set;
    if (policy === 'noeviction') {
      return { level: 'ok', words: 'Redis evicts no keys (maxmemory-policy is noeviction)' };
    }
    if (policy === undefined) {
      const words = 'Redis does not say its maxmemory-policy';
      return { level: 'warning', words, cure: 'make sure it is noeviction' };
    }
    const words = `Redis may evict keys (maxmemory-policy is ${policy})`;
    return { level: 'error', words, cure: 'set it to noeviction' };
  },
  persistence({ aof_enabled: enabled, appendfsync, aof_last_write_status: lastWrite, replay }) {
    const warning = (words: string, cure: string): Verdict => ({
      level: 'warning',
      words: `Redis ${words}`,
      cure,
    });
    if (enabled !== '1') {
      const words =
        'keeps no append-only file, so that after its restart the daemon starts a new store epoch';
      return warning(words, 'set appendonly to yes');
    }
    if (appendfsync === 'no') {
      const words = 'leaves it to the system when the append-only file is written';
      return warning(words, 'set appendfsync to everysec');
    }
    if (lastWrite === 'err') {
      return warning('cannot write its append-only file', 'look for a full or read-only disk');
    }
    if (replay !== 'OK') {
      const words =
        replay === undefined
          ? 'does not say whether its user default may replay the append-only file; if not, a restart loses all state'
          : 'loses all state at its next restart: its user default may not replay the append-only file';
      return warning(words, REPLAY_CURE);
    }
    return { level: 'ok', words: 'Redis keeps an append-only file' };
  },
  /** An idle server wakes blocked clients `hz` times a second. */
  timers({ configured_hz: configured, hz: inForce }) {
    const hz = Number(configured ?? inForce);
    if (Number.isNaN(hz)) return { level: 'ok', words: 'Redis does not say its hz' };
    const words = `Redis looks at its timers ${hz} times a second`;
    if (hz >= LEAST_HZ) return { level: 'ok', words };
    return { level: 'warning', words: `${words}, which delays polls`, cure: 'set hz to 100' };
  },
};

/** Checks the set-up of the server and of all other nodes of its cluster. */
export async function examineRedis(redis: Redis, openLevel: RedisFinding['level']): Promise<RedisFindings> {
  const own = await examineServer(redis, openLevel);
  const { findings, isGuarded } = own.isOfCluster ? await withOthers(redis, own, openLevel) : own;
  const said = (level: RedisFinding['level']): readonly string[] =>
    findings
      .filter((finding) => finding.level === level)
      .map(({ words, cure }) => (cure === undefined ? words : `${words}: ${cure}`));
  return { findings, errors: said('error'), warnings: said('warning'), version: own.version, isGuarded };
}

interface Examined extends Omit<RedisFindings, 'errors' | 'warnings'> {
  readonly isOfCluster: boolean;
}

async function examineServer(redis: Redis, openLevel: RedisFinding['level']): Promise<Examined> {
  const info = readInfo(await redis.info());
  const server = { ...(await readSettings(redis)), ...info, replay: await tryReplay(redis) };
  const findings = Object.entries(EXAMINATIONS).map(([aspect, examine]) =>
    Object.assign({ aspect: aspect as RedisAspect }, examine(server)),
  );
  const access = await tryAccess(redis);
  findings.unshift({ aspect: 'access', ...judgeAccess(access, openLevel) });
  return {
    findings,
    version: info['redis_version'] ?? '',
    isGuarded: access === 'closed',
    isOfCluster: info['redis_mode'] === 'cluster',
  };
}

/** Examines the other nodes too: any node may get the slot, and a replica may take its primary's place. */
async function withOthers(
  redis: Redis,
  own: Examined,
  openLevel: RedisFinding['level'],
): Promise<Pick<Examined, 'findings' | 'isGuarded'>> {
  const others = await openOtherNodes(redis);
  const findings = [...own.findings];
  const silent: string[] = [];
  let { isGuarded } = own;
  for (const { name, redis: node } of others) {
    try {
      const examined = await examineServer(node, openLevel);
      isGuarded &&= examined.isGuarded;
      for (const [place, finding] of findings.entries()) {
        const theirs = examined.findings.find(({ aspect }) => aspect === finding.aspect);
        if (theirs === undefined || theirs.aspect === 'role' || !isWorse(theirs, finding)) continue;
        findings[place] = { ...theirs, words: `${theirs.words} (node ${name})` };
      }
    } catch {
      silent.push(name);
    } finally {
      node.disconnect();
    }
  }
  const words = `${others.length - silent.length} other nodes of the cluster answer`;
  const nodes: Verdict =
    silent.length === 0
      ? { level: 'ok', words }
      : { level: 'warning', words: `${words}, and not ${silent.join(', ')}`, cure: 'start them again' };
  return { findings: [...findings, { aspect: 'nodes', ...nodes }], isGuarded };
}

const LEVELS: readonly RedisFinding['level'][] = ['ok', 'warning', 'error'];

function isWorse(one: RedisFinding, other: RedisFinding): boolean {
  return LEVELS.indexOf(one.level) > LEVELS.indexOf(other.level);
}

/** Whether the user default may do what a replay of the append-only file does; undefined: not to be found out. */
async function tryReplay(redis: Redis): Promise<string | undefined> {
  try {
    return String(await redis.call('ACL', 'DRYRUN', 'default', 'SET', 'breakwater', '1'));
  } catch {
    return undefined;
  }
}

/** What a client without a password can do. `unknown`: why the attempt did not tell. */
type Access = 'open' | 'closed' | { readonly unknown: string };

/** Connects without a password: a server that asks for none accepts any password, so sending one proves nothing. */
async function tryAccess(redis: Redis): Promise<Access> {
  const stranger = redis.duplicate({
    username: undefined,
    password: undefined,
    // RESP3 begins with HELLO, which itself needs the password.
    protocol: 2,
    ...singleAttempt(3000),
    sentinelRetryStrategy: () => null,
  });
  stranger.on('error', () => undefined);
  try {
    await stranger.connect();
    await stranger.ping();
    return 'open';
  } catch (error) {
    const { message } = error as Error;
    return /^(NOAUTH|NOPERM|DENIED)/.test(message) ? 'closed' : { unknown: message };
  } finally {
    stranger.disconnect();
  }
}

/** `openLevel`: the level of a Redis that asks for no password. */
function judgeAccess(access: Access, openLevel: RedisFinding['level']): Verdict {
  if (access === 'closed') return { level: 'ok', words: 'Redis asks for a password' };
  if (access !== 'open') {
    const words = `whether Redis asks for a password could not be found out (${access.unknown})`;
    return { level: openLevel === 'ok' ? 'ok' : 'warning', words };
  }
  const words = 'Redis asks for no password, so whoever connects can change what the daemon keeps there';
  if (openLevel === 'ok') return { level: 'ok', words: `${words}; the config allows it` };
  const cure = 'give it one (docs/deployment.md), or say insecure: [redis] on a private network';
  return { level: openLevel, words, cure };
}

function isOlder(version: string): boolean {
  const [major = Number.NaN, minor = Number.NaN] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = LEAST_VERSION;
  return !(major > leastMajor || (major === leastMajor && minor >= leastMinor));
}

function readInfo(text: string): Texts {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}

async function readSettings(redis: Redis): Promise<Texts> {
  const names = ['maxmemory-policy', 'hz', 'appendfsync'];
  try {
    // CONFIG GET replies with a flat list in RESP2, with an object in RESP3.
    const replies: readonly unknown[] = await Promise.all(names.map((name) => redis.config('GET', name)));
    return Object.fromEntries(
      replies.flatMap((reply): [string, string][] => {
        if (!Array.isArray(reply)) return Object.entries(reply as Record<string, string>);
        const [name, value] = reply.map(String);
        return name === undefined || value === undefined ? [] : [[name, value]];
      }),
    );
  } catch {
    // Managed services refuse CONFIG.
    return {};
  }
}

const QUEUES = ['poll', 'act', 'notify'] as const satisfies readonly QueueName[];

/** Returns the queues that somebody has paused as a whole. BullMQ keeps the mark in the queue's `meta` hash. */
export async function pausedQueues(redis: Redis, prefix: string): Promise<readonly QueueName[]> {
  const marks = await Promise.all(
    QUEUES.map((name) => redis.hexists(`${queuePrefix(prefix)}:${name}:meta`, 'paused')),
  );
  return QUEUES.filter((_, index) => marks[index] === 1);
}

interface OtherNode {
  /** `host:port`. */
  readonly name: string;
  /** Connects with its first command. */
  readonly redis: Redis;
}

const ANSWER_MS = 3_000;

/**
 * Opens the other nodes of the cluster: all but the one that `redis` is connected to, and also nodes that do not
 * answer. The caller disconnects them.
 */
async function openOtherNodes(redis: Redis): Promise<readonly OtherNode[]> {
  const lines = String(await redis.call('CLUSTER', 'NODES')).split('\n');
  const places = lines.flatMap((line) => placeOf(line) ?? []);
  return places.map(({ host, port }) => ({ name: `${host}:${port}`, redis: openNode(redis, host, port) }));
}

/**
 * Parses a line of CLUSTER NODES: `ID IP:PORT@BUS[,NAME...] FLAGS ...`. Undefined for the node that answers (`myself`)
 * and for nodes without an address.
 */
function placeOf(line: string): { readonly host: string; readonly port: number } | undefined {
  const [, place = '', flags = ''] = line.split(' ');
  const {
    ip = '',
    port,
    name = '',
  } = /^(?<ip>.*):(?<port>\d+)@\d+(?:,(?<name>[^,=]*))?/.exec(place)?.groups ?? {};
  const host = name === '' ? ip : name;
  return host === '' || /myself|noaddr|handshake/.test(flags) ? undefined : { host, port: Number(port) };
}

function openNode(redis: Redis, host: string, port: number): Redis {
  const node = redis.duplicate({
    Connector: undefined,
    host,
    port,
    ...singleAttempt(ANSWER_MS),
    enableOfflineQueue: true,
  });
  node.on('error', () => undefined);
  return node;
}
