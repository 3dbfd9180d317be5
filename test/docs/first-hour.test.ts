import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stateDirectoryOf } from '../../src/app/state-directory.ts';
import { freePort } from '../support/redis.ts';
import {
  type Background,
  type Block,
  blocksOf,
  type Ended,
  isAsShown,
  runBlock,
  type Shell,
  startBlock,
} from './documented-commands.ts';

/**
 * Runs every command of docs/first-hour.md, in order, and compares its output with the page. `vitest -u` writes the
 * output into the page.
 */

const PAGE = fileURLToPath(new URL('../../docs/first-hour.md', import.meta.url));
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** Where the daemon of somebody else keeps its state. */
const STATE_ON_PAGE = '/home/you/.local/state/breakwater/4f1c0d2e9a7b';

const READY: readonly (readonly [program: RegExp, ready: RegExp])[] = [
  [/^breakwater simulate /, /Ctrl-C stops it/],
  [/^breakwater run/, /"event":"started"/],
  [/^node /, /listening/],
];
/** How long an output may take to show that the daemon has seen a change; calm, it polls every ten seconds. */
const SETTLE_MS = 240_000;

const hasTools = ['curl', 'sed', 'grep'].every((program) => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
});

let folder = '';
const running: Background[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-first-hour-'));
});
afterEach(async () => {
  for (const background of running.toReversed()) await background.stop();
  await rm(folder, { recursive: true, force: true });
});

/** An environment where these program names run this checkout. */
async function openShell(): Promise<Shell> {
  const programs = path.join(folder, 'programs');
  const work = path.join(folder, 'work');
  for (const made of [programs, work]) await mkdir(made);
  const script = async (name: string, command: string): Promise<void> => {
    await writeFile(path.join(programs, name), `#!/bin/sh\nexec ${command} "$@"\n`);
    await chmod(path.join(programs, name), 0o755);
  };
  await script('breakwater', `'${process.execPath}' '${MAIN}'`);
  await script('node', `'${process.execPath}'`);
  const ports = new Map<string, string>();
  for (const port of ['8080', '8081', '8082', '9642']) {
    const used = String(await freePort());
    ports
      .set(`:${port}`, `:${used}`)
      .set(`port ${port}`, `port ${used}`)
      .set(`listen(${port},`, `listen(${used},`);
  }
  ports.set('breakwater run\n', `breakwater run --port ${ports.get(':9642')?.slice(1)}\n`);
  const configFile = path.join(work, 'breakwater.yaml');
  const state = stateDirectoryOf({ configFile, stateDir: undefined, env: { XDG_STATE_HOME: folder } });
  ports.set(STATE_ON_PAGE, state);
  const PATH_ = `${programs}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: PATH_, XDG_STATE_HOME: folder, NO_COLOR: '1' };
  return { folder: work, env, ports };
}

async function outputOf(block: Block, shell: Shell): Promise<Ended> {
  const { output } = block;
  const end = performance.now() + SETTLE_MS;
  for (;;) {
    const ended = await runBlock(block, shell);
    if (output?.isLive !== true || isAsShown(output, ended.printed) || performance.now() > end) return ended;
  }
}

test('from a checkout, the commands work in an empty folder, and write no keys into the checkout', async () => {
  const page = await readFile(PAGE, 'utf8');
  const lines = blocksOf(page).filter(({ how }) => how === 'checkout');
  expect(lines).toHaveLength(1);
  const root = path.dirname(path.dirname(PAGE));
  const init =
    'init --offline --exchange https://x.example --account a --leverage 5 --key-env KEY --secret-env SECRET';
  const commands = [
    `cd '${root}'`,
    lines[0]?.script.trim(),
    `cd '${folder}'`,
    `breakwater ${init} --out alias.yaml`,
    `npm run --silent --prefix '${root}' breakwater -- ${init} --out npm.yaml`,
  ];
  const printed = execFileSync('sh', ['-c', commands.join('\n')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(printed).toContain('Wrote operators.key, web-control.secret, alias.yaml.');
  expect((await readdir(folder)).sort()).toEqual([
    'alias.yaml',
    'npm.yaml',
    'operators.key',
    'web-control.secret',
  ]);
});

test.runIf(hasTools)('every command of the first hour prints what the page shows', async () => {
  const page = await readFile(PAGE, 'utf8');
  const shell = await openShell();
  let printedPage = '';
  let at = 0;
  for (const block of blocksOf(page)) {
    const { script, how, output } = block;
    if (how === 'checkout') continue;
    if (how === 'background') {
      const ready = READY.find(([program]) => program.test(script))?.[1];
      if (ready === undefined) throw new Error(`nothing says when this is ready: ${script}`);
      running.push(await startBlock(block, shell, ready));
      continue;
    }
    const { printed, exitCode } = await outputOf(block, shell);
    expect({ script, printed, failed: exitCode !== 0 }).toEqual({
      script,
      printed,
      failed: how === 'fails',
    });
    if (output === undefined) {
      expect({ script, printed }).toEqual({ script, printed: '' });
      continue;
    }
    printedPage += page.slice(at, output.start) + (isAsShown(output, printed) ? output.text : printed);
    at = output.end;
  }
  expect(at).toBeGreaterThan(page.length / 2);
  await expect(printedPage + page.slice(at)).toMatchFileSnapshot(PAGE);
});
