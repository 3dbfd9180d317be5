import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { PAGE_POLICY } from './headers.ts';

/** The page's own addresses; which of its views is shown, it tells by the address itself. */
const PAGE_PATHS = [
  '/',
  '/glossary',
  '/accounts/:id',
  '/accounts/:id/positions/:positionId',
  '/accounts/:id/credit-lines/:subject',
] as const;

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** What packages resolve to for Node. */
const ENTRIES = { uplot: import.meta.resolve('uplot'), 'lit-html': import.meta.resolve('lit-html') };

/** Files of the libraries that the page uses, as their packages have them: no build step. */
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

/** As far from here in the sources as in the built program. */
const GLOSSARY = new URL('../../docs/glossary.md', import.meta.url);

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
    const glossary = await readFile(GLOSSARY);
    scope.get('/assets/glossary.md', (_request, reply) =>
      reply.header('cache-control', REVALIDATE).type('text/markdown; charset=utf-8').send(glossary),
    );
    for (const [url, [name, file, type]] of Object.entries(LIBRARY_FILES)) {
      const content = await readFile(path.join(packageDirectory(name), file));
      scope.get(url, (_request, reply) => reply.header('cache-control', REVALIDATE).type(type).send(content));
    }
  });
}

/** It lies somewhere below the folder of the package. */
function packageDirectory(name: keyof typeof ENTRIES): string {
  const entry = fileURLToPath(ENTRIES[name]);
  const folder = path.join('node_modules', name);
  return entry.slice(0, entry.lastIndexOf(folder) + folder.length);
}
