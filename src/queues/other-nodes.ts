import type { Redis } from 'ioredis';
import { singleAttempt } from './connection.ts';

export interface OtherNode {
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
export async function openOtherNodes(redis: Redis): Promise<readonly OtherNode[]> {
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
