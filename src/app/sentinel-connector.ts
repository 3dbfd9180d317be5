import type { Socket } from 'node:net';
import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

/**
 * Connections of one process to the primary that Sentinels name. A server that lost its network ends none of them, and those
 * that wait for something would stay with it. So where one connection has found another primary, all others leave the old
 * one: the connection that the watchdog writes to is the first to notice.
 */
export function createFollowingConnector() {
  const streams = new Set<Socket>();
  return class FollowingConnector extends SentinelConnector {
    constructor(options: unknown) {
      super(options as SentinelConnectionOptions);
    }

    override async connect(...given: Parameters<SentinelConnector['connect']>): Promise<Socket> {
      const stream = await super.connect(...given);
      streams.add(stream);
      stream.once('close', () => streams.delete(stream));
      return stream;
    }

    /** Called with what a server says of itself before it is used. */
    override check(info: { role?: string }): boolean {
      const isPrimary = super.check(info);
      const place = placeOf(this.stream);
      for (const stream of isPrimary ? streams : []) {
        const other = placeOf(stream);
        if (other !== undefined && other !== place) stream.destroy();
      }
      return isPrimary;
    }
  };
}

/** `undefined`: not connected yet. */
function placeOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
