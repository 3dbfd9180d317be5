import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';

/** Maximum connections of one client, of one subnet, and of all. A browser keeps six, and one for each tab. */
const MOST_PER_CLIENT = 100;
const MOST_PER_SUBNET = 600;
const MOST = 1000;

export interface ConnectionBounds {
  /** Proxies are exempt from the bounds per client and subnet, because many people share their address. */
  readonly proxies?: ProxyList;
  readonly onRefused?: (client: string) => void;
}

/**
 * Bounds the connections of a server, in all, per subnet and per client. At a bound, a new connection replaces the one that has
 * been idle longest, so idle connections keep nobody out. If none is idle, the new connection is closed. A connection
 * is idle until it has sent a whole request head, and again after each response.
 */
export function boundConnections(server: Server, { proxies, onRefused }: ConnectionBounds = {}): void {
  /** In order of idle time, the longest first. */
  const idle = new Map<Socket, readonly Bound[]>();
  const counts = new Map<string, number>();
  const countOf = ({ of }: Bound): number => counts.get(of) ?? 0;
  const displace = (full: Bound): boolean => {
    for (const [socket, bounds] of idle) {
      if (!bounds.some(({ of }) => of === full.of)) continue;
      idle.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  };
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress);
    const bounds = boundsOf(client, proxies?.has(socket.remoteAddress) === true);
    const full = bounds.find((bound) => countOf(bound) >= bound.most);
    if (full !== undefined && !displace(full)) {
      socket.destroy();
      onRefused?.(client);
      return;
    }
    for (const bound of bounds) counts.set(bound.of, countOf(bound) + 1);
    idle.set(socket, bounds);
    socket.once('close', () => {
      idle.delete(socket);
      for (const bound of bounds) {
        const left = countOf(bound) - 1;
        if (left === 0) counts.delete(bound.of);
        else counts.set(bound.of, left);
      }
    });
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const bounds = idle.get(socket);
    if (bounds === undefined) return;
    idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) idle.set(socket, bounds);
    });
  });
}

interface Bound {
  readonly of: string;
  readonly most: number;
}

/** The narrowest first: who displaces a connection there makes room in the wider ones, too. */
function boundsOf(client: string, isProxy: boolean): readonly Bound[] {
  const all = { of: 'all', most: MOST };
  if (isProxy) return [all];
  const subnet = client.includes(':')
    ? client.split(':').slice(0, 3).join(':')
    : client.split('.').slice(0, 3).join('.');
  return [{ of: client, most: MOST_PER_CLIENT }, { of: `subnet ${subnet}`, most: MOST_PER_SUBNET }, all];
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
