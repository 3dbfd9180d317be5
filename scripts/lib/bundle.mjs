import { readdirSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';

/** Programs of threads: a worker is started by the place of its file. */
const THREADS = [
  'src/app/config-thread',
  'src/app/scheduled-stress/stress-thread',
  'src/app/tune/tune-thread',
];
const PLACE = 'place-of:';

/**
 * Packages that go into our files: those of many files, which every start had to find and read. The others stay where npm
 * puts them: they read files of their own, or are few.
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
/** Of what these need: there only if somebody installed it. */
const APART = new Set(['supports-color']);

/**
 * JavaScript of the program, of what others import and of the threads, each where its source is, in as few files as leave
 * every command to be loaded by itself: finding and reading 1,100 files took a third of the processor time of a start.
 * @param {string} root
 * @param {string} dist
 * @returns {Promise<readonly string[]>} the files that they were made of
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
    // Of bullmq only what is used: its files have no effects of their own, which it does not say.
    resolve: {
      alias: {
        bullmq: path.join(root, 'node_modules/bullmq/dist/esm/index.js'),
        // Its other door loads a native library, which unpacks: bullmq only packs.
        msgpackr: path.join(root, 'node_modules/msgpackr/index.js'),
      },
    },
    // As undici says that it is bundled: without its experimental parser, two programs of WebAssembly that nothing starts.
    transform: { define: { esbuildDetection: 'true' } },
    treeshake: { moduleSideEffects: (id) => !id.includes('/bullmq/dist/esm/') },
    plugins: [board(), schedules(), connections(root), http(), placed(root)],
    onLog(_level, log) {
      // A warning of the bundler is a program that behaves otherwise than its sources.
      throw new Error(log.message);
    },
  });
  const { output } = await built.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'src/chunks/[name].js',
    // Sources are in the maps. What is loaded stays in memory as text.
    comments: false,
  });
  await built.close();
  const chunks = output.flatMap((file) => (file.type === 'chunk' ? [file] : []));
  for (const { fileName, code } of chunks) writeFileSync(path.join(dist, fileName), inAscii(code));
  return chunks.flatMap(({ moduleIds }) => moduleIds);
}

/**
 * A character beyond ASCII, and V8 keeps two bytes for each of the whole file.
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
 * The queues' page asks bullmq for two classes, in a way that would take all of it along.
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
 * Every schedule of our queues has a pace. Bullmq's other way, by cron patterns, would take along a library for them and one
 * for dates.
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
 * Of undici the connections alone, put together as its index does it. What comes with them there (fetch, WebSocket, caches,
 * mocks, ...) was two thirds of it, and is made by being loaded.
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

/** Packages require it, which makes nothing. @param {string} id @param {string} importer */
function isOurHttp(id, importer) {
  return id === 'node:http' && !importer.includes('node_modules');
}

/**
 * Where a module imports Node's `http`, Node makes all that it could offer, and for `WebSocket` reads an undici of its own:
 * it is asked for by a call instead.
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
 * What a module finds beside itself it finds from the chunk that it is in, too: `import.meta.url` is the place that its
 * own file would have.
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
