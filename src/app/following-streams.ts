import type { Socket } from 'node:net';

/**
 * Connections of one process to a server that another one may replace. A server that lost its network closes none of
 * them, so connections that wait for a reply would stay with it. When one connection finds another server, all others
 * therefore leave the old one. The connection that the watchdog writes to notices first.
 */
export class FollowingStreams {
  readonly #streams = new Set<Socket>();

  add(stream: Socket): void {
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
  }

  /** Called with a connection to the server that is in use from now on. */
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
