import { connect as connectPlain, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis } from 'ioredis';
import type { RedisHost } from '../config/redis-address.ts';
import { type ReconnectPause, type RedisTarget, singleAttempt } from '../queues/connection.ts';
import { type ContactProblem, contactProblem } from './contact-problem.ts';
import { FollowingStreams } from './following-streams.ts';

/** No node of the cluster names a server for the slot. The message says why and names no password. */
export class NoClusterNodeError extends Error {
  readonly code = 'no-cluster-node';
  /** The server may be there later; otherwise the configuration is wrong. */
  readonly isAway: boolean;
  constructor(message: string, isAway: boolean) {
    super(message);
    this.name = 'NoClusterNodeError';
    this.isAway = isAway;
  }
}

export interface ClusterPlace extends Pick<RedisTarget, 'username' | 'password' | 'family' | 'tls'> {
  /** Nodes to ask; at least one. */
  readonly nodes: readonly RedisHost[];
  /** A key of the wanted slot. */
  readonly key: string;
}

/** A slower node counts as hung; the next one is asked. */
const ASK_TIMEOUT_MS = 1_000;

/**
 * Connects one process to the node that serves one slot of a Redis Cluster. All keys of an installation are in that
 * slot, so the rest of the program sees one server that may be replaced, as behind Sentinels.
 */
export function createClusterConnector(place: ClusterPlace) {
  const streams = new FollowingStreams();
  const known = new KnownNodes(place.nodes);
  return class ClusterConnector extends AbstractConnector {
    readonly #pause: ReconnectPause;

    constructor(options: unknown) {
      const { disconnectTimeout = 2_000, sentinelRetryStrategy = () => null } = options as {
        readonly disconnectTimeout?: number;
        readonly sentinelRetryStrategy?: ReconnectPause;
      };
      super(disconnectTimeout);
      this.#pause = sentinelRetryStrategy;
    }

    override async connect(emit: (kind: string, error: Error) => void): Promise<Socket> {
      this.connecting = true;
      const server = await this.#find(emit);
      const options = { ...server, ...(place.family === undefined ? {} : { family: place.family }) };
      const stream =
        place.tls === undefined ? connectPlain(options) : connectTls({ ...options, ...place.tls });
      stream.once('error', (error) => {
        this.firstError = error;
      });
      this.stream = stream;
      streams.add(stream);
      return stream;
    }

    /** Called with the server's own report before the connection is used. */
    override check({ role = 'master' }: { role?: string }): boolean {
      if (role !== 'master') return false;
      streams.lead(this.stream);
      return true;
    }

    async #find(emit: (kind: string, error: Error) => void): Promise<RedisHost> {
      for (let times = 1; ; times++) {
        const found = await askNodes(known, place);
        if (!this.connecting) throw new Error('Connection is closed.');
        if (!(found instanceof Error)) return found;
        const pauseMs = this.#pause(times);
        if (pauseMs === null) throw found;
        emit('error', found);
        await sleep(pauseMs);
        if (!this.connecting) throw new Error('Connection is closed.');
      }
    }
  };
}

/** Nodes in the order of asking. A node that was asked goes last, as its answer may be outdated. */
class KnownNodes {
  #nodes: readonly RedisHost[];
  readonly #configured: readonly RedisHost[];

  constructor(configured: readonly RedisHost[]) {
    this.#configured = configured;
    this.#nodes = configured;
  }

  get inOrder(): readonly RedisHost[] {
    return this.#nodes;
  }

  asked(node: RedisHost): void {
    this.#nodes = [...this.#nodes.filter((other) => !isSame(other, node)), node];
  }

  /** Drops nodes that are gone, unless the config names them. */
  learn(nodes: readonly RedisHost[]): void {
    const now = [...this.#configured, ...nodes];
    const kept = this.#nodes.filter((node) => now.some((other) => isSame(other, node)));
    const news = nodes.filter((node) => !kept.some((other) => isSame(other, node)));
    this.#nodes = [...news, ...kept];
  }
}

const isSame = (a: RedisHost, b: RedisHost): boolean => a.host === b.host && a.port === b.port;

/** The node that serves the slot, according to the first node that answers. */
async function askNodes(known: KnownNodes, place: ClusterPlace): Promise<RedisHost | NoClusterNodeError> {
  const problems = new Set<string>();
  let isAway = true;
  for (const node of known.inOrder) {
    const answer = await ask(node, place);
    known.asked(node);
    if (answer.kind === 'refused') {
      problems.add(answer.why);
      isAway &&= answer.isAway;
      continue;
    }
    known.learn(answer.nodes);
    if (answer.server !== undefined) return answer.server;
    problems.add('no node serves the slot of redis.prefix');
  }
  return new NoClusterNodeError([...problems].join('; '), isAway);
}

type Answer =
  | { readonly kind: 'told'; readonly server: RedisHost | undefined; readonly nodes: readonly RedisHost[] }
  | ({ readonly kind: 'refused' } & ContactProblem);

async function ask({ host, port }: RedisHost, place: ClusterPlace): Promise<Answer> {
  const { nodes: _nodes, key, ...access } = place;
  const redis = new Redis({ host, port, ...access, ...singleAttempt(ASK_TIMEOUT_MS) });
  let first: NodeJS.ErrnoException | undefined;
  redis.on('error', (error: NodeJS.ErrnoException) => {
    first ??= error;
  });
  try {
    await redis.connect();
    const slot = Number(await redis.call('CLUSTER', 'KEYSLOT', key));
    return readSlots((await redis.call('CLUSTER', 'SLOTS')) as readonly unknown[], slot, { host, port });
  } catch (error) {
    return refusalOf(first ?? (error as NodeJS.ErrnoException), place);
  } finally {
    redis.disconnect();
  }
}

/** `[from, to, [host, port, id, ...] of the primary, ... of its replicas]` for each range of slots. */
function readSlots(reply: readonly unknown[], slot: number, asked: RedisHost): Answer {
  const nodes: RedisHost[] = [];
  let server: RedisHost | undefined;
  for (const range of reply as readonly (readonly [number, number, ...(readonly unknown[])[]])[]) {
    const [from, to, ...servers] = range;
    const places = servers.map((node) => hostOf(node, asked));
    nodes.push(...places.filter((node) => !nodes.some((other) => isSame(other, node))));
    if (from <= slot && slot <= to) server = places[0];
  }
  return { kind: 'told', server, nodes };
}

/** A node that does not know or report its address is at the address that was asked. */
function hostOf([host, port]: readonly unknown[], asked: RedisHost): RedisHost {
  const isKnown = typeof host === 'string' && host !== '' && host !== '?';
  return { host: isKnown ? host : asked.host, port: Number(port) };
}

function refusalOf(error: NodeJS.ErrnoException, { tls }: ClusterPlace): Answer {
  if (error.message.includes('cluster support disabled')) {
    const why = 'it is no node of a Redis Cluster (a single server: redis:// or rediss://)';
    return { kind: 'refused', why, isAway: false };
  }
  return {
    kind: 'refused',
    ...contactProblem(error, { kind: 'cluster', ...(tls === undefined ? {} : { tls }) }),
  };
}
