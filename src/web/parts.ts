import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface Parts {
  /** Each is made when it is asked for, and holds until the next one is. */
  readonly parts: Iterable<Uint8Array>;
  /** Making a part failed: the answer ends in the middle. */
  readonly onError: (error: unknown) => void;
}

/** A reader that takes longer is cut off: what the parts are made from is not kept for it. */
const TAKEN_MS = 30_000;
/** Text in which names repeat shrinks to a twentieth at the quickest level too. */
const GZIP_LEVEL = 1;

/**
 * Answers with a text in parts, compressed where the request accepts gzip. A part is made when the one before is gone
 * and others have had the event loop; none are made after the connection has closed.
 */
export function sendParts(request: FastifyRequest, reply: FastifyReply, { parts, onError }: Parts): void {
  void reply.header('vary', 'accept-encoding');
  const compresses = acceptsGzip(request.headers['accept-encoding']);
  if (compresses) void reply.header('content-encoding', 'gzip');
  const { raw } = reply.hijack();
  // It may have closed while the parts were prepared: its `close` would never come.
  if (raw.destroyed) return;
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  if (request.method === 'HEAD') {
    raw.end();
    return;
  }
  const fail = (error: unknown): void => {
    raw.destroy();
    onError(error);
  };
  const zip = compresses ? createGzip({ level: GZIP_LEVEL }).on('error', fail) : undefined;
  // How the connection ended is its own affair.
  raw.on('error', () => undefined);
  const late = setTimeout(() => raw.destroy(), TAKEN_MS);
  raw.once('close', () => {
    clearTimeout(late);
    zip?.destroy();
  });
  zip?.pipe(raw);
  writeAll(parts, zip ?? raw, () => raw.destroyed).catch(fail);
}

async function writeAll(
  parts: Iterable<Uint8Array>,
  target: Writable,
  isClosed: () => boolean,
): Promise<void> {
  for (const part of parts) {
    await written(target, part);
    await setImmediate();
    if (isClosed()) return;
  }
  target.end();
}

/** Resolves when the part is not needed any more, also because nobody is there to take it. */
async function written(target: Writable, part: Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      target.off('close', done);
      resolve();
    };
    target.once('close', done);
    target.write(part, done);
  });
}

/** As RFC 9110, section 12.5.3 has it: named, or meant by `*`, and not with a weight of 0. */
export function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  const items = [header ?? []].flat().join(',').toLowerCase().split(',');
  const weights = new Map(
    items.map((item) => {
      const [name = '', ...parameters] = item.split(';').map((text) => text.trim());
      const weight = parameters.find((text) => text.startsWith('q='))?.slice('q='.length);
      return [name, Number(weight ?? 1)];
    }),
  );
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}
