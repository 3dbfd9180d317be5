import { Redis } from 'ioredis';
import type { Certificate } from './certificates.ts';
import { freePort, type RedisServer, startRedisServer } from './redis.ts';
import { until } from './until.ts';

const SLOTS = 16_384;
/** A node silent for this long counts as failed. */
const NODE_TIMEOUT_MS = 1_000;

export interface ClusterNode extends RedisServer {
  /** A connection for the test itself. */
  readonly redis: Redis;
  readonly id: string;
  /** Its TLS port; 0: none. */
  readonly tlsPort: number;
}

export interface ClusterSceneOptions {
  /** Called with functions that close parts of the scene. */
  readonly closing: (close: () => Promise<void>) => void;
  /** A key of the slot under test: the first node serves it. */
  readonly key: string;
  /** Password of all nodes; user `default`. */
  readonly password?: string;
  /** Further options of each node. */
  readonly args?: readonly string[];
  /** Certificates of the nodes, which then also accept TLS. */
  readonly certificate?: Certificate & { readonly ca: string };
}

/** Three primaries, and a replica of the one that serves the slot of `key`. */
export interface ClusterScene {
  readonly primary: ClusterNode;
  readonly replica: ClusterNode;
  /** The two primaries that do not serve the slot. */
  readonly others: readonly [ClusterNode, ClusterNode];
  readonly slot: number;
  /** `host:port,...` of the three primaries. */
  readonly hosts: string;
  /** The same for TLS. */
  readonly tlsHosts: string;
  /** Stops replication to the replica: later writes of the primary are lost when it takes over. */
  cutReplication(): Promise<void>;
  /** Id of the node that serves the slot, as reported by a node. */
  serverOf(asked: ClusterNode): Promise<string | undefined>;
  /** Tells two nodes that the slot migrates between them; its keys stay where they are. */
  beginMove(from: ClusterNode, to: ClusterNode): Promise<void>;
  /** Moves some keys of the slot; resolves to their number. */
  moveKeys(from: ClusterNode, to: ClusterNode, count: number): Promise<number>;
  /** Moves the rest of the slot, and assigns it to the other node. */
  endMove(from: ClusterNode, to: ClusterNode): Promise<void>;
}

export async function openClusterScene(options: ClusterSceneOptions): Promise<ClusterScene> {
  const nodes = await Promise.all([0, 1, 2, 3].map(() => startNode(options)));
  const [primary, second, third, replica] = nodes as [ClusterNode, ClusterNode, ClusterNode, ClusterNode];
  const primaries = [primary, second, third] as const;
  const slot = Number(await primary.redis.call('CLUSTER', 'KEYSLOT', options.key));
  await shareSlots(primaries, slot);
  for (const [index, node] of nodes.entries()) {
    await node.redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  for (const { port, redis } of nodes.slice(1)) {
    const bus = String((await redis.config('GET', 'cluster-port'))[1]);
    await primary.redis.call('CLUSTER', 'MEET', '127.0.0.1', String(port), bus);
  }
  const isWhole = async ({ redis }: ClusterNode): Promise<boolean> => {
    const info = String(await redis.call('CLUSTER', 'INFO'));
    return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:4');
  };
  await until(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean), 'a cluster');
  await replica.redis.call('CLUSTER', 'REPLICATE', primary.id);
  const isFollowing = async (): Promise<boolean> =>
    (await replica.redis.info('replication')).includes('master_link_status:up');
  await until(isFollowing, 'a replica that follows');
  const isKnown = async ({ redis }: ClusterNode): Promise<boolean> =>
    String(await redis.call('CLUSTER', 'NODES')).includes(`slave ${primary.id}`);
  await until(async () => (await Promise.all(primaries.map(isKnown))).every(Boolean), 'a known replica');
  return {
    primary,
    replica,
    others: [second, third],
    slot,
    hosts: primaries.map(({ port }) => `127.0.0.1:${port}`).join(','),
    tlsHosts: primaries.map(({ tlsPort }) => `127.0.0.1:${tlsPort}`).join(','),
    async cutReplication() {
      await primary.redis.call('ACL', 'SETUSER', 'replica', 'off');
      await primary.redis.call('CLIENT', 'KILL', 'USER', 'replica');
    },
    serverOf: (asked) => serverOf(asked, slot),
    async beginMove(from, to) {
      await to.redis.call('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id);
      await from.redis.call('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id);
    },
    moveKeys: (from, to, count) => moveKeys(from, to, { slot, count, password: options.password }),
    async endMove(from, to) {
      while ((await moveKeys(from, to, { slot, count: 100, password: options.password })) > 0);
      for (const { redis } of [to, from, ...primaries.filter((node) => node !== from && node !== to)]) {
        await redis.call('CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id);
      }
    },
  };
}

/** A free port may be taken by another test before the node listens to it: then others are tried. */
async function startNode(options: ClusterSceneOptions): Promise<ClusterNode> {
  for (;;) {
    try {
      return await startNodeOnce(options);
    } catch (error) {
      if (!String(error).includes('Address already in use')) throw error;
    }
  }
}

async function startNodeOnce(options: ClusterSceneOptions): Promise<ClusterNode> {
  const { closing, password, args = [], certificate } = options;
  const access = password === undefined ? [] : ['--requirepass', password];
  const tlsPort = certificate === undefined ? 0 : await freePort();
  const tls =
    certificate === undefined
      ? []
      : [
          '--tls-port',
          String(tlsPort),
          '--tls-ca-cert-file',
          certificate.ca,
          '--tls-cert-file',
          certificate.cert,
          '--tls-key-file',
          certificate.key,
          '--tls-auth-clients',
          'no',
          '--tls-cluster',
          'yes',
          '--tls-replication',
          'yes',
        ];
  const server = await startRedisServer({
    persistent: true,
    args: [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(await freePort()),
      '--cluster-node-timeout',
      String(NODE_TIMEOUT_MS),
      '--cluster-replica-validity-factor',
      '0',
      // A separate user, so that a test can cut replication alone.
      '--masteruser',
      'replica',
      '--masterauth',
      'replica',
      '--user',
      'replica',
      'on',
      '>replica',
      '+psync',
      '+replconf',
      '+ping',
      '--repl-diskless-sync-delay',
      '0',
      ...access,
      ...tls,
      ...args,
    ],
  });
  closing(async () => {
    // A graceful shutdown waits for replicas.
    await server.kill();
    await server.stop();
  });
  const redis = new Redis({
    port: server.port,
    ...(password === undefined ? {} : { password }),
    retryStrategy: () => 50,
    maxRetriesPerRequest: 1,
  });
  redis.on('error', () => undefined);
  closing(async () => redis.disconnect());
  return Object.assign(server, { redis, id: String(await redis.call('CLUSTER', 'MYID')), tlsPort });
}

/** A third for each, and the slot under test for the first one. */
async function shareSlots(primaries: readonly ClusterNode[], slot: number): Promise<void> {
  const third = Math.ceil(SLOTS / 3);
  const ranges = [0, 1, 2].map((part) => [part * third, Math.min((part + 1) * third, SLOTS) - 1] as const);
  const own = ranges.findIndex(([from, to]) => from <= slot && slot <= to);
  const inOrder = [ranges[own]!, ...ranges.filter((_, index) => index !== own)];
  for (const [index, { redis }] of primaries.entries()) {
    const [from, to] = inOrder[index]!;
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
  }
}

async function serverOf({ redis }: ClusterNode, slot: number): Promise<string | undefined> {
  type Range = readonly [number, number, readonly [string, number, string]];
  const ranges = (await redis.call('CLUSTER', 'SLOTS')) as readonly Range[];
  return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][2];
}

interface Move {
  readonly slot: number;
  readonly count: number;
  readonly password: string | undefined;
}

async function moveKeys(
  from: ClusterNode,
  to: ClusterNode,
  { slot, count, password }: Move,
): Promise<number> {
  const keys = (await from.redis.call('CLUSTER', 'GETKEYSINSLOT', String(slot), String(count))) as string[];
  if (keys.length === 0) return 0;
  const access = password === undefined ? [] : ['AUTH', password];
  await from.redis.call(
    ...(['MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', ...access, 'KEYS', ...keys] as [
      string,
      ...string[],
    ]),
  );
  return keys.length;
}
