import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PAGE_POLICY } from './headers.ts';

/** Paths of the page; it chooses the view by the path itself. */
const PAGE_PATHS = [
  '/',
  '/accounts/:id',
  '/accounts/:id/positions/:positionId',
  '/accounts/:id/credit-lines/:subject',
] as const;

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

const ENTRIES = { uplot: import.meta.resolve('uplot'), 'lit-html': import.meta.resolve('lit-html') };

/** Library files that the page uses, served from their packages without a build step. */
const LIBRARY_FILES: Readonly<
  Record<string, readonly [name: keyof typeof ENTRIES, file: string, type: string]>
> = {
  '/assets/uplot.js': ['uplot', 'dist/uPlot.esm.js', SCRIPT],
  '/assets/uplot.iife.js': ['uplot', 'dist/uPlot.iife.min.js', SCRIPT],
  '/assets/uplot.css': ['uplot', 'dist/uPlot.min.css', STYLE],
  '/assets/lit-html/lit-html.js': ['lit-html', 'lit-html.js', SCRIPT],
  '/assets/lit-html/directive.js': ['lit-html', 'directive.js', SCRIPT],
  '/assets/lit-html/directive-helpers.js': ['lit-html', 'directive-helpers.js', SCRIPT],
  '/assets/lit-html/directives/guard.js': ['lit-html', 'directives/guard.js', SCRIPT],
  '/assets/lit-html/directives/repeat.js': ['lit-html', 'directives/repeat.js', SCRIPT],
};

const TYPES: Readonly<Record<string, string>> = {
  '.css': STYLE,
  '.html': 'text/html; charset=utf-8',
  '.js': SCRIPT,
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** Excludes the type declarations that are in the same folder. */
const SERVED = /^[\w-]+\.(js|css|svg|png|html)$/;

/** Browsers may cache the files, but must revalidate them each time. */
const REVALIDATE = 'no-cache';

/** Returns the folder of the page, which is beside this file in the sources and in the built program. */
export function pageDirectory(): string {
  return fileURLToPath(new URL('page/', import.meta.url));
}

/**
 * Serves the status page: static files without a build step. They contain nothing about the accounts, so they need no
 * token; their data comes from the API. The page asks for tokens when the API answers 401 (`readTokenNeeded`,
 * `controlTokenNeeded`), keeps them in `sessionStorage`, and sends them with `fetch` as `Authorization: Bearer ...`,
 * also for events, which it reads as a stream. There are no cookies.
 */
export async function registerPage(app: FastifyInstance, directory: string): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'open' };
    });
    const send = async (
      request: FastifyRequest,
      reply: FastifyReply,
      name: string,
    ): Promise<FastifyReply> => {
      const type = SERVED.test(name) ? TYPES[path.extname(name)] : undefined;
      const content = type === undefined ? undefined : await contentOf(path.join(directory, name));
      if (type === undefined || content === undefined) {
        reply.callNotFound();
        return reply;
      }
      reply.header('content-security-policy', PAGE_POLICY);
      return answer(request, reply, { content, type });
    };
    scope.get<{ Params: { '*': string } }>('/assets/*', (request, reply) =>
      send(request, reply, request.params['*']),
    );
    for (const url of PAGE_PATHS) scope.get(url, (request, reply) => send(request, reply, 'index.html'));
    for (const [url, [name, file, type]] of Object.entries(LIBRARY_FILES)) {
      const place = path.join(packageDirectory(name), file);
      scope.get(url, async (request, reply) =>
        answer(request, reply, { content: await readFile(place), type }),
      );
    }
  });
}

/** Reads a file; undefined if it does not exist. */
async function contentOf(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

interface Served {
  readonly content: Buffer;
  readonly type: string;
}

/** Sends the content, or 304 if the browser already has it. */
function answer({ headers }: FastifyRequest, reply: FastifyReply, { content, type }: Served): FastifyReply {
  const tag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  reply.header('cache-control', REVALIDATE).header('etag', tag);
  // `includes`, because a proxy may mark the tag as weak, and a browser may send several.
  if (headers['if-none-match']?.includes(tag) === true) return reply.code(304).send();
  return reply.type(type).send(content);
}

/** Returns the folder of a package; its entry point is somewhere below it. */
function packageDirectory(name: keyof typeof ENTRIES): string {
  const entry = fileURLToPath(ENTRIES[name]);
  const folder = path.join('node_modules', name);
  return entry.slice(0, entry.lastIndexOf(folder) + folder.length);
}
