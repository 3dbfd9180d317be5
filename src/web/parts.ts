import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SharedText } from './scrapes.ts';

/** A slower reader is disconnected, because what it has not read stays in memory. */
const TAKEN_MS = 30_000;

/** Sends a shared text, compressed if the request accepts gzip. A broken connection is no error. */
export async function sendShared(
  request: FastifyRequest,
  reply: FastifyReply,
  text: () => Promise<SharedText>,
): Promise<void> {
  const { raw } = reply;
  const shared = request.method === 'HEAD' ? undefined : await text();
  void reply.header('vary', 'accept-encoding');
  const compresses = acceptsGzip(request.headers['accept-encoding']);
  if (compresses) void reply.header('content-encoding', 'gzip');
  reply.hijack();
  // The connection may have closed while the text was prepared.
  if (raw.destroyed) return;
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  if (shared === undefined) return void raw.end();
  raw.flushHeaders();
  const late = setTimeout(() => raw.destroy(), TAKEN_MS);
  const source = Readable.from(shared.read(), { objectMode: false });
  const steps = compresses ? [source, raw] : [source, createGunzip(), raw];
  await pipeline(steps)
    .catch(() => raw.destroy())
    .finally(() => clearTimeout(late));
}

/** RFC 9110, section 12.5.3: gzip is accepted if named, or covered by `*`, with a weight above 0. */
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
