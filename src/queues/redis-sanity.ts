import type { Redis } from 'ioredis';

/** What a Redis server must be, and what it should be, for state and queues to be safe in it. */
export interface RedisFindings {
  /** The daemon does not start with these. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly version: string;
}

const LEAST_VERSION = [6, 2] as const;
const LEAST_HZ = 50;

/** Asks the server how it is set up; what it does not tell (managed services hide settings) is a warning. */
export async function examineRedis(redis: Redis): Promise<RedisFindings> {
  const info = readInfo(await redis.info());
  const settings = await readSettings(redis);
  const errors: string[] = [];
  const warnings: string[] = [];
  const version = info['redis_version'] ?? '';
  if (isOlder(version)) {
    errors.push(`Redis is version ${version || 'unknown'}: ${LEAST_VERSION.join('.')} or newer is needed`);
  }
  if (info['role'] !== undefined && info['role'] !== 'master') {
    errors.push('Redis is a replica: connect to the primary');
  }
  const policy = info['maxmemory_policy'] ?? settings['maxmemory-policy'];
  if (policy !== undefined && policy !== 'noeviction') {
    errors.push(`Redis may evict keys (maxmemory-policy is ${policy}): set it to noeviction`);
  }
  if (policy === undefined)
    warnings.push('Redis does not say its maxmemory-policy: make sure it is noeviction');
  warnings.push(...persistenceWarnings(info, settings), ...hzWarnings(info, settings));
  return { errors, warnings, version };
}

type Texts = Readonly<Record<string, string | undefined>>;

function persistenceWarnings(info: Texts, settings: Texts): readonly string[] {
  if (info['aof_enabled'] === '1') {
    if (settings['appendfsync'] === 'no') {
      return [
        'Redis leaves it to the system when the append-only file is written: set appendfsync to everysec',
      ];
    }
    return info['aof_last_write_status'] === 'err' ? ['Redis cannot write its append-only file'] : [];
  }
  return [
    'Redis keeps no append-only file: after its restart the daemon starts a new life. Set appendonly to yes',
  ];
}

/** A quiet server wakes blocked clients only so often a second. */
function hzWarnings(info: Texts, settings: Texts): readonly string[] {
  const hz = Number(info['configured_hz'] ?? info['hz'] ?? settings['hz']);
  if (Number.isNaN(hz) || hz >= LEAST_HZ) return [];
  return [`Redis looks at its timers ${hz} times a second, which delays polls: set hz to 100`];
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
    // A flat list, or an object where the protocol has them.
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
