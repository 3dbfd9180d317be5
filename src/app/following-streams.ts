import type { Socket } from 'node:net';

/**
 * Connections of one process to a server that may be replaced by another one. A server that lost its network ends none of
 * them, and those that wait for something would stay with it. So where one connection has found another server, all others
 * leave the old one: the connection that the watchdog writes to is the first to notice.
 */
export class FollowingStreams {
  readonly #streams = new Set<Socket>();

  add(stream: Socket): void {
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
  }

  /** Called with a connection that has found the server that is in use from now on. */
  lead(leader: Socket): void {
    const place = placeOf(leader);
    for (const stream of this.#streams) {
      const other = placeOf(stream);
      if (other !== undefined && other !== place) stream.destroy();
    }
  }
}

/** `undefined`: not connected yet. */
function placeOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
