import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { PAGE_POLICY } from './headers.ts';

/** The page's own addresses; which of its views is shown, it tells by the address itself. */
const PAGE_PATHS = [
  '/',
  '/accounts/:id',
  '/accounts/:id/positions/:positionId',
  '/accounts/:id/credit-lines/:subject',
] as const;

/** The plotting library as its package has it. */
const PLOT_FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/assets/uplot.js': ['uPlot.esm.js', 'text/javascript; charset=utf-8'],
  '/assets/uplot.iife.js': ['uPlot.iife.min.js', 'text/javascript; charset=utf-8'],
  '/assets/uplot.css': ['uPlot.min.css', 'text/css; charset=utf-8'],
};

/** The folder has type declarations too, which are not served. */
const SERVED = /^\/?[\w-]+\.(js|css|svg|png|html)$/;

/** A browser may keep them, but asks each time whether they changed. */
const REVALIDATE = 'no-cache';

/** Files that the page consists of lie beside this one, in the sources as in the built program. */
export function pageDirectory(): string {
  return fileURLToPath(new URL('page/', import.meta.url));
}

/**
 * The status page: static files without a build step. They tell nothing of the accounts, so they need no token;
 * what they show they get from the API. How a page gets its tokens: it asks for them when the API answers 401
 * (`readTokenNeeded`, `controlTokenNeeded`), keeps them in `sessionStorage` and sends them with `fetch` as
 * `Authorization: Bearer ...`, also for events, which it reads as a stream. There are no cookies.
 */
export async function registerPage(app: FastifyInstance, directory: string): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'open' };
    });
    await scope.register(fastifyStatic, {
      root: directory,
      prefix: '/assets/',
      index: false,
      allowedPath: (name) => SERVED.test(name),
      cacheControl: false,
      setHeaders(reply) {
        reply.header('cache-control', REVALIDATE);
        reply.header('content-security-policy', PAGE_POLICY);
      },
    });
    for (const url of PAGE_PATHS) scope.get(url, (_request, reply) => reply.sendFile('index.html'));
    for (const [url, [file, type]] of Object.entries(PLOT_FILES)) {
      const content = await readFile(path.join(plotDirectory(), file));
      scope.get(url, (_request, reply) => reply.header('cache-control', REVALIDATE).type(type).send(content));
    }
  });
}

function plotDirectory(): string {
  return path.dirname(fileURLToPath(import.meta.resolve('uplot')));
}
