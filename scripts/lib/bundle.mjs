import { readdirSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';

/** Entry points of worker threads: a worker is started by its file's path. */
const THREADS = ['src/app/config-thread', 'src/app/scheduled-stress/stress-thread'];
const PLACE = 'place-of:';

/**
 * Packages bundled into our files: those with many files, which every start had to find and read. The others stay
 * external: they read files of their own, or have few files.
 */
const BUNDLED = new Set([
  '@bull-board/api/bullMQAdapter', // would load a second bullmq
  'big.js',
  'bullmq',
  'commander',
  'ioredis',
  'node-cron',
  'prom-client',
  'undici',
  'yaml',
  'zod',
]);
/** Optional dependencies of bundled packages: present only if the user installed them. */
const APART = new Set(['supports-color']);

/**
 * Bundles the program, the modules that others import and the threads, each at its source's path. The files are few, as
 * finding and reading 1,100 took a third of a start's processor time, but every command still loads alone.
 * @param {string} root
 * @param {string} dist
 * @returns {Promise<readonly string[]>} the source files that were bundled
 */
export async function bundle(root, dist) {
  const offered = readdirSync(path.join(root, 'src/package')).map(
    (name) => `src/package/${path.basename(name, '.ts')}`,
  );
  const entries = ['src/cli/main', ...offered, ...THREADS];
  const built = await rolldown({
    cwd: root,
    platform: 'node',
    input: Object.fromEntries(entries.map((entry) => [entry, path.join(root, `${entry}.ts`)])),
    external: (id, importer) => isExternal(id, importer ?? ''),
    // Only the used parts of bullmq: its modules have no side effects, but its package.json does not say so.
    resolve: {
      alias: {
        bullmq: path.join(root, 'node_modules/bullmq/dist/esm/index.js'),
        // Its other entry point loads a native library for unpacking; bullmq only packs.
        msgpackr: path.join(root, 'node_modules/msgpackr/index.js'),
      },
    },
    // undici's own switch for bundlers: leaves out the experimental parser, two unused WebAssembly programs.
    transform: { define: { esbuildDetection: 'true' } },
    treeshake: { moduleSideEffects: (id) => !id.includes('/bullmq/dist/esm/') },
    plugins: [board(), schedules(), connections(root), http(), placed(root)],
    onLog(_level, log) {
      // After a warning of the bundler the program may behave differently from its sources.
      throw new Error(log.message);
    },
  });
  const { output } = await built.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'src/chunks/[name].js',
    // Source maps contain the sources. Loaded code stays in memory as text.
    comments: false,
  });
  await built.close();
  const chunks = output.flatMap((file) => (file.type === 'chunk' ? [file] : []));
  for (const { fileName, code } of chunks) writeFileSync(path.join(dist, fileName), inAscii(code));
  return chunks.flatMap(({ moduleIds }) => moduleIds);
}

/**
 * Escapes non-ASCII characters: with a single one, V8 stores the whole file with two bytes per character.
 * @param {string} code
 */
function inAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** @param {string} id @param {string} importer */
function isExternal(id, importer) {
  if (id.startsWith('.') || path.isAbsolute(id)) return false;
  if (isBuiltin(id)) return !isOurHttp(id, importer);
  return importer.includes('node_modules') ? APART.has(id) : !BUNDLED.has(id);
}

const BOARD_QUEUE = '\0queue-of-the-board';

/**
 * The queues' page requires two classes of bullmq in a way that would pull in all of it.
 * @returns {import('rolldown').Plugin}
 */
function board() {
  return {
    name: 'board',
    resolveId(id, importer = '') {
      return id === 'bullmq' && importer.includes('@bull-board') ? BOARD_QUEUE : undefined;
    },
    load(id) {
      return id === BOARD_QUEUE ? "export { FlowProducer, Queue } from 'bullmq';" : undefined;
    },
  };
}

const NO_CRON = '\0no-cron';

/**
 * Every schedule of our queues is an interval. Cron patterns, bullmq's alternative, would pull in a cron library and a
 * date library.
 * @returns {import('rolldown').Plugin}
 */
function schedules() {
  return {
    name: 'schedules',
    resolveId: (id, importer = '') =>
      id === 'cron-parser' && importer.includes('bullmq') ? NO_CRON : undefined,
    load: (id) =>
      id === NO_CRON
        ? `export const CronExpressionParser = { parse() { throw new Error('schedules of queues have a pace, not a pattern'); } };`
        : undefined,
  };
}

const HTTP_PARTS = '\0undici-parts';

/**
 * Only the connections of undici, assembled as its index does. The rest (fetch, WebSocket, caches, mocks, ...) is two
 * thirds of the package, and is built when it is loaded.
 * @param {string} root
 * @returns {import('rolldown').Plugin}
 */
function connections(root) {
  const from = (/** @type {string} */ file) =>
    JSON.stringify(path.join(root, 'node_modules/undici/lib', file));
  return {
    name: 'connections',
    resolveId: (id) => (id === 'undici' ? HTTP_PARTS : undefined),
    load(id) {
      return id === HTTP_PARTS
        ? `import api from ${from('api/index.js')};
import Agent from ${from('dispatcher/agent.js')};
import Dispatcher from ${from('dispatcher/dispatcher.js')};
import Pool from ${from('dispatcher/pool.js')};
import ProxyAgent from ${from('dispatcher/proxy-agent.js')};
Object.assign(Dispatcher.prototype, api);
export { Agent, Pool, ProxyAgent };`
        : undefined;
    },
  };
}

const HTTP_OF_NODE = '\0http-of-node';

/** Packages use `require`, which does not create every export. @param {string} id @param {string} importer */
function isOurHttp(id, importer) {
  return id === 'node:http' && !importer.includes('node_modules');
}

/**
 * An `import` of Node's `http` makes Node create every export, and for `WebSocket` load its own undici. A call gets
 * `createServer` without that.
 * @returns {import('rolldown').Plugin}
 */
function http() {
  return {
    name: 'http',
    resolveId: (id, importer = '') => (isOurHttp(id, importer) ? HTTP_OF_NODE : undefined),
    load: (id) =>
      id === HTTP_OF_NODE
        ? "export const { createServer } = process.getBuiltinModule('node:http');"
        : undefined,
  };
}

/**
 * Keeps `import.meta.url` the URL of the module's own file, so that a module in a chunk still finds the files beside
 * it.
 * @param {string} root
 * @returns {import('rolldown').Plugin}
 */
function placed(root) {
  return {
    name: 'placed',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return undefined;
      const place = path.relative(root, id).replaceAll(path.sep, '/').replace(/\.ts$/, '.js');
      return {
        code: code.replaceAll('import.meta.url', `new URL('${PLACE}${place}', import.meta.url).href`),
        map: null,
      };
    },
    renderChunk(code, { fileName }) {
      const found = new RegExp(`(["'\`])${PLACE}([^"'\`]+)\\1`, 'g');
      const from = path.posix.dirname(fileName);
      return {
        code: code.replaceAll(found, (_all, _quote, place) =>
          JSON.stringify(path.posix.relative(from, place)),
        ),
        map: null,
      };
    },
  };
}
