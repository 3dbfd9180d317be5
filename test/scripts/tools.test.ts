import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { TEST_TOOLS, testsThatNeed } from '../../scripts/lib/tools.mjs';

const ROOT = path.join(import.meta.dirname, '../..');
const fixture = (name: string): string => path.join(import.meta.dirname, 'fixtures', name);

interface Finished {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const child = spawn(process.execPath, [...args], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (stderr += String(chunk)));
  const [exit] = (await once(child, 'close')) as [number | null];
  return { exit, stdout, stderr };
}

/** A machine with a fake package manager and sudo, and a project with three test files. */
let machine: string;
const log = (): readonly string[] => {
  const file = path.join(machine, 'log');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

const GAUGE = {
  programs: ['bw-gauge', 'bw-gauge-old'],
  packages: { default: ['gauge'] },
  usedBy: 'needs gauge',
};
const CHART = { programs: ['bw-chart'], packages: { default: ['chart'] }, usedBy: 'needs chart' };
const INSTALL = 'apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120';
const UPDATE = 'apt-get update -qq -o DPkg::Lock::Timeout=120';
const INSTALLING = 'with apt-get; BREAKWATER_NO_INSTALL=1 forbids that.';

function script(name: string, body: string): void {
  const file = path.join(machine, 'bin', name);
  writeFileSync(file, `#!/bin/sh\n${body}`);
  chmodSync(file, 0o755);
}

function offer(name: string, ...programs: readonly string[]): void {
  mkdirSync(path.join(machine, 'packages', name), { recursive: true });
  for (const program of programs)
    writeFileSync(path.join(machine, 'packages', name, program), '', { mode: 0o755 });
}

beforeEach(() => {
  machine = mkdtempSync(path.join(tmpdir(), 'breakwater-tools-'));
  onTestFinished(() => rmSync(machine, { recursive: true, force: true }));
  for (const folder of ['bin', 'packages', 'test/deep'])
    mkdirSync(path.join(machine, folder), { recursive: true });
  writeFileSync(path.join(machine, 'test/one.test.ts'), '// needs gauge');
  writeFileSync(path.join(machine, 'test/deep/two.test.ts'), '// needs gauge and needs chart');
  writeFileSync(path.join(machine, 'test/three.test.ts'), '// needs nothing');
  writeFileSync(path.join(machine, 'test/helper.ts'), '// needs gauge');
  script(
    'apt-get',
    `echo "apt-get $*" >>'${machine}/log'
[ "$1" = install ] || exit 0
for name; do :; done
[ -d '${machine}/packages/'"$name" ] || exit 100
for file in '${machine}/packages/'"$name"/*; do [ ! -f "$file" ] || cp "$file" '${machine}/bin/'; done
`,
  );
  // The real policy against services would be written to /usr/sbin: sudo runs the package manager of this folder
  // instead.
  script(
    'sudo',
    `[ "$1" = -n ] || exit 1
shift
while [ $# -gt 0 ] && [ "$1" != '${machine}/bin/apt-get' ]; do shift; done
exec "$@"
`,
  );
});

async function ensure(
  tools: readonly object[],
  { args = [], env = {} }: { readonly args?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Finished> {
  const { BREAKWATER_NO_INSTALL: _forbidden, ...inherited } = process.env;
  const PATH = `${machine}/bin:/usr/bin:/bin`;
  return await run([fixture('ensure-tools.mjs'), JSON.stringify({ root: machine, args, tools })], {
    ...inherited,
    PATH,
    ...env,
  });
}

describe('tools that the tests need', () => {
  it('are installed once, each announced, and a second run does nothing', async () => {
    offer('gauge', 'bw-gauge');
    offer('chart', 'bw-chart');
    expect(await ensure([GAUGE, CHART])).toEqual({
      exit: 0,
      stdout: '{}',
      stderr: `breakwater: installing bw-gauge for the tests ${INSTALLING}
breakwater: installing bw-chart for the tests ${INSTALLING}
`,
    });
    const installed = [UPDATE, `${INSTALL} gauge`, `${INSTALL} chart`];
    expect(log()).toEqual(installed);
    expect(await ensure([GAUGE, CHART])).toEqual({ exit: 0, stdout: '{}', stderr: '' });
    expect(log()).toEqual(installed);
  });

  it('are not installed if another program will do', async () => {
    script('bw-gauge-old', '');
    expect(await ensure([GAUGE])).toEqual({ exit: 0, stdout: '{}', stderr: '' });
    expect(log()).toEqual([]);
  });

  it('come from the first installable package of this system', async () => {
    offer('gauge-2', 'bw-gauge');
    const tool = { ...GAUGE, packages: { 'apt-get': ['gauge-1', 'gauge-2', 'gauge-3'], default: ['gauge'] } };
    expect(await ensure([tool])).toMatchObject({ exit: 0 });
    expect(log()).toEqual([UPDATE, `${INSTALL} gauge-1`, `${INSTALL} gauge-2`]);
  });

  it('that cannot be installed are named with the skipped tests, and the next one follows', async () => {
    offer('chart', 'bw-chart');
    const { exit, stderr } = await ensure([GAUGE, CHART]);
    expect({ exit, lines: stderr.split('\n') }).toEqual({
      exit: 0,
      lines: [
        `breakwater: installing bw-gauge for the tests ${INSTALLING}`,
        'breakwater: without bw-gauge, tests are skipped in test/deep/two.test.ts, test/one.test.ts: apt-get could not install gauge.',
        `breakwater: installing bw-chart for the tests ${INSTALLING}`,
        '',
      ],
    });
    expect(existsSync(path.join(machine, 'bin/bw-chart'))).toBe(true);
  });

  it('are also reported missing if the package lacks the program', async () => {
    offer('chart');
    expect((await ensure([CHART])).stderr).toContain(
      'without bw-chart, tests are skipped in test/deep/two.test.ts: its package has no program bw-chart.\n',
    );
  });

  it('are never installed with BREAKWATER_NO_INSTALL=1', async () => {
    offer('chart', 'bw-chart');
    expect(await ensure([CHART], { env: { BREAKWATER_NO_INSTALL: '1' } })).toEqual({
      exit: 0,
      stdout: '{}',
      stderr:
        'breakwater: without bw-chart, tests are skipped in test/deep/two.test.ts: BREAKWATER_NO_INSTALL is set.\n',
    });
    expect(log()).toEqual([]);
  });

  it('are not installed where sudo would ask for a password', async () => {
    offer('chart', 'bw-chart');
    script('sudo', 'exit 1\n');
    expect((await ensure([CHART])).stderr).toBe(
      'breakwater: without bw-chart, tests are skipped in test/deep/two.test.ts: apt-get needs root, and sudo would ask for a password.\n',
    );
    expect(log()).toEqual([]);
  });

  it('are installed for the chosen tests only', async () => {
    offer('chart', 'bw-chart');
    for (const args of [['one'], ['./test/three.test.ts'], [path.join(machine, 'test/one.test.ts')]]) {
      expect(await ensure([CHART], { args })).toEqual({ exit: 0, stdout: '{}', stderr: '' });
    }
    expect(log()).toEqual([]);
    expect(await ensure([CHART], { args: ['./test/deep/two.test.ts:12'] })).toMatchObject({ exit: 0 });
    expect(log()).toEqual([UPDATE, `${INSTALL} chart`]);
  });

  it('are installed for all tests if an option may choose the tests', async () => {
    offer('chart', 'bw-chart');
    expect(await ensure([CHART], { args: ['-t', 'one'] })).toMatchObject({ exit: 0 });
    expect(log()).toEqual([UPDATE, `${INSTALL} chart`]);
  });

  it('are on the PATH of the tests if a package has put them elsewhere', async () => {
    // `env` is in /usr/bin on every system, which this PATH lacks.
    const env = { programs: ['env'], packages: { default: ['env'] }, usedBy: 'needs' };
    expect(await ensure([env], { env: { PATH: `${machine}/bin` } })).toMatchObject({
      exit: 0,
      stdout: JSON.stringify({ PATH: `${machine}/bin:/usr/bin` }),
      stderr: '',
    });
  });
});

describe('the list of test tools', () => {
  it.each(TEST_TOOLS.map((tool) => ({ name: tool.programs[0], tool })))(
    'finds every test that can miss $name',
    ({ name, tool }) => {
      const said =
        name === 'chromium' ? /support\/browser\.ts/ : new RegExp(`${name} is not (installed|on )`);
      const found = testsThatNeed(tool, ROOT, []);
      expect(found.length).toBeGreaterThan(0);
      expect(found).toEqual(expect.arrayContaining(testsThatNeed({ ...tool, usedBy: said }, ROOT, [])));
    },
  );
});

describe('on a machine without the tools', () => {
  const bare = async (...args: readonly string[]): Promise<Finished> =>
    await run(['--import', fixture('no-tools.mjs'), path.join(ROOT, 'scripts/run.mjs'), ...args], {
      ...process.env,
      BREAKWATER_NO_INSTALL: '1',
    });

  it('npm test names every missing tool, and runs', async () => {
    const { exit, stdout, stderr } = await bare('test', '--help');
    const missed = [...stderr.matchAll(/without ([\w-]+), .*: BREAKWATER_NO_INSTALL is set\.$/gm)];
    expect(missed.map(([, name]) => name)).toEqual(TEST_TOOLS.map(({ programs }) => programs[0]));
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: expect.stringContaining('$ vitest run') as string });
  });

  it.each(['demo', 'start', 'breakwater'])('npm run %s needs none', async (task) => {
    const { exit, stdout, stderr } = await bare(task, '--help');
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toContain('Usage: breakwater');
  });
});
