import type { Redis } from 'ioredis';

type Connection = Redis['stream'];

const collecting = new WeakSet<Connection>();

/**
 * Whatever this turn sends over the connection from now on goes out in one write: a write costs many times what a
 * call does, and wakes the server each time. Nothing waits longer than until the turn ends.
 */
export function inOneWrite({ stream }: Redis): void {
  // There is none before the first connection.
  if ((stream as Connection | undefined) === undefined || collecting.has(stream)) return;
  collecting.add(stream);
  stream.cork();
  process.nextTick(() => {
    collecting.delete(stream);
    stream.uncork();
  });
}
