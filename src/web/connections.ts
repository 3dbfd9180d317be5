import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';

/** Maximum connections of one client, and of all. A browser keeps six, and one for each tab. */
const MOST_PER_CLIENT = 100;
const MOST = 1000;

export interface ConnectionBounds {
  /** Proxies are exempt from the bound per client, because many people share their address. */
  readonly proxies?: ProxyList;
  readonly onRefused?: (client: string) => void;
}

/**
 * Bounds the connections of a server, in all and per client. At a bound, a new connection replaces the one that has
 * been idle longest, so idle connections keep nobody out. If none is idle, the new connection is closed. A connection
 * is idle until it has sent a whole request head, and again after each response.
 */
export function boundConnections(server: Server, { proxies, onRefused }: ConnectionBounds = {}): void {
  /** In order of idle time, the longest first. */
  const idle = new Map<Socket, string>();
  const counts = new Map<string, number>();
  let total = 0;
  const displace = (client?: string): boolean => {
    for (const [socket, owner] of idle) {
      if (client !== undefined && owner !== client) continue;
      idle.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  };
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress);
    const isBounded = proxies?.has(socket.remoteAddress) !== true;
    const isFull = isBounded && (counts.get(client) ?? 0) >= MOST_PER_CLIENT;
    if ((isFull && !displace(client)) || (!isFull && total >= MOST && !displace())) {
      socket.destroy();
      onRefused?.(client);
      return;
    }
    total += 1;
    counts.set(client, (counts.get(client) ?? 0) + 1);
    idle.set(socket, client);
    socket.once('close', () => {
      total -= 1;
      idle.delete(socket);
      const left = (counts.get(client) ?? 1) - 1;
      if (left === 0) counts.delete(client);
      else counts.set(client, left);
    });
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const client = idle.get(socket);
    if (client === undefined) return;
    idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) idle.set(socket, client);
    });
  });
}

/**
 * Returns the client at an address for the purpose of limits. An IPv6 network of 64 bits is one client, because
 * everybody has at least that many addresses. An IPv4 address is the same client in both notations.
 */
export function clientOf(address: string | undefined): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${all.slice(0, 4).join(':')}::/64`;
}

/** Removes the IPv6 prefix of a mapped IPv4 address, and the zone. */
export function plainAddress(address = ''): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
}

export interface ProxyList {
  has(address: string | undefined): boolean;
}

/** Creates a list of addresses and networks such as `10.0.0.0/8`. */
export function proxyList(addresses: readonly string[]): ProxyList {
  const list = new BlockList();
  for (const address of addresses) {
    const [net = '', bits] = address.split('/');
    const family = isIPv6(net) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(net, family);
    else list.addSubnet(net, Number(bits), family);
  }
  return {
    has(address) {
      const plain = plainAddress(address);
      return plain !== '' && list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
    },
  };
}
