import type { Socket } from 'node:net';
import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';
import { FollowingStreams } from './following-streams.ts';

/** Connects one process to the primary that Sentinels name. */
export function createFollowingConnector() {
  const streams = new FollowingStreams();
  return class FollowingConnector extends SentinelConnector {
    constructor(options: unknown) {
      super(options as SentinelConnectionOptions);
    }

    override async connect(...given: Parameters<SentinelConnector['connect']>): Promise<Socket> {
      const stream = await super.connect(...given);
      streams.add(stream);
      return stream;
    }

    /** Called with the server's own report before the connection is used. */
    override check(info: { role?: string }): boolean {
      const isPrimary = super.check(info);
      if (isPrimary) streams.lead(this.stream);
      return isPrimary;
    }
  };
}
