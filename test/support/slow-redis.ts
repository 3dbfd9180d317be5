import { createHash } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A distant Redis, with a count of its commands. */
export interface SlowRedis {
  readonly url: string;
  /** Commands so far, by name; scripts by their digest. */
  readonly commands: ReadonlyMap<string, number>;
  /** From now on. */
  setRoundTrip(ms: number): void;
  /** Connections stay open and nothing passes until `open`, which delivers data sent meanwhile. */
  close(): void;
  open(): void;
  stop(): Promise<void>;
}

/** A TCP proxy that forwards data after half the round trip, in order, and counts the commands in it. */
export async function startSlowRedis(url: string, firstRoundTripMs: number): Promise<SlowRedis> {
  let roundTripMs = firstRoundTripMs;
  let isClosed = false;
  const target = new URL(url);
  const commands = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port || 6379) });
    const counter = new CommandCounter(commands);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      if (isClosed) from.pause();
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => {
        if (from === near) counter.add(chunk);
        setTimeout(() => to.writable && to.write(chunk), roundTripMs / 2);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        setTimeout(() => to.destroy(), roundTripMs);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const near = new URL(url);
  near.hostname = '127.0.0.1';
  near.port = String((server.address() as AddressInfo).port);
  return {
    url: near.href,
    commands,
    setRoundTrip(ms) {
      roundTripMs = ms;
    },
    close() {
      isClosed = true;
      for (const socket of sockets) socket.pause();
    },
    open() {
      isClosed = false;
      for (const socket of sockets) socket.resume();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Arrays of bulk strings, as every client sends them; a chunk may end anywhere. */
class CommandCounter {
  readonly #commands: Map<string, number>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(commands: Map<string, number>) {
    this.#commands = commands;
  }

  add(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let end = this.#next(); end > 0; end = this.#next()) this.#rest = this.#rest.subarray(end);
  }

  /** Where the first command ends; 0 if it is incomplete. */
  #next(): number {
    const line = (from: number): number => this.#rest.indexOf('\r\n', from);
    let at = line(0);
    if (at < 0) return 0;
    const count = Number(this.#rest.toString('latin1', 1, at));
    const words: string[] = [];
    at += 2;
    for (let index = 0; index < count; index += 1) {
      const end = line(at);
      if (end < 0) return 0;
      const length = Number(this.#rest.toString('latin1', at + 1, end));
      const next = end + 2 + length + 2;
      if (next > this.#rest.length) return 0;
      if (index < 2) words.push(this.#rest.toString('latin1', end + 2, next - 2));
      at = next;
    }
    const [name = '', first = ''] = words;
    const key = keyOf(name.toLowerCase(), first);
    this.#commands.set(key, (this.#commands.get(key) ?? 0) + 1);
    return at;
  }
}

/** A script is sent in full once, and by its digest from then on. */
function keyOf(name: string, first: string): string {
  if (name === 'evalsha') return first;
  return name === 'eval' ? createHash('sha1').update(first, 'latin1').digest('hex') : name;
}
