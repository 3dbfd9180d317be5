import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { releaseNotes, releaseProblems } from '../../scripts/lib/release-checks.mjs';
import { builds, copyProject, environment } from '../package/packed.ts';
import { sliceOf } from '../support/slice.ts';

type State = Parameters<typeof releaseProblems>[0];

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.3] - 2026-05-01

### Added

- A thing.

## [1.2.2] - 2026-04-01

- An older thing.
`;
const READY: State = {
  version: '1.2.3',
  lockVersion: '1.2.3',
  images: [{ file: 'daemon.yaml', tag: '1.2.3' }],
  changelog: CHANGELOG,
  changed: [],
  tags: ['v1.2.2'],
  notInstalled: undefined,
};

describe('a release', () => {
  test('may be made when everything is ready', () => {
    expect(releaseProblems(READY)).toEqual([]);
    expect(releaseNotes(CHANGELOG, '1.2.3')).toBe('### Added\n\n- A thing.\n');
  });

  test.each<[string, Partial<State>, RegExp]>([
    ['a changed file', { changed: ['src/app.ts'] }, /^the tree is not clean: src\/app\.ts$/],
    ['many of them', { changed: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] }, /: a, b, c, d, e and 2 more$/],
    [
      'no version',
      { version: '1.2', lockVersion: '1.2', images: [], changelog: CHANGELOG.replaceAll('1.2.3', '1.2') },
      /"1\.2" is not a version/,
    ],
    [
      'a lock of before',
      { lockVersion: '1.2.2' },
      /^package-lock\.json says 1\.2\.2, package\.json 1\.2\.3$/,
    ],
    ['an image of before', { images: [{ file: 'web.yaml', tag: '1.2.2' }] }, /^web\.yaml: .* 1\.2\.2, not/],
    ['a tag that is there', { tags: ['v1.2.3'] }, /^the tag v1\.2\.3 is there already/],
    ['no section', { changelog: CHANGELOG.replace('[1.2.3]', '[1.3.0]') }, /no section "## \[1\.2\.3\] - /],
    ['no date', { changelog: CHANGELOG.replace(' - 2026-05-01', '') }, /has no date/],
    ['no such date', { changelog: CHANGELOG.replace('05-01', '02-30') }, /has no date/],
    ['an empty section', { changelog: CHANGELOG.replace('### Added\n\n- A thing.\n', '') }, /is empty$/],
    [
      'a newer section',
      { changelog: CHANGELOG.replace('## [1.2.3]', '## [2.0.0] - 2026-06-01\n\n- New.\n\n## [1.2.3]') },
      /is not the newest$/,
    ],
    [
      'what is not released yet',
      { changelog: CHANGELOG.replace('## [1.2.3]', '- Late.\n\n## [1.2.3]') },
      /\[Unreleased\] is not empty/,
    ],
    ['packages of before', { notInstalled: 'zod has changed' }, /^zod has changed: run npm ci$/],
  ])('is refused with %s', (_what, change, words) => {
    expect(releaseProblems({ ...READY, ...change })).toEqual([expect.stringMatching(words)]);
  });
});

/** Installed packages may belong to another branch: a folder of links stands in, which claims to match the lock. */
function pretendInstalled(project: string): void {
  const modules = path.join(project, 'node_modules');
  const shared = realpathSync(modules);
  rmSync(modules);
  mkdirSync(modules);
  for (const name of readdirSync(shared)) {
    if (name !== '.package-lock.json') symlinkSync(path.join(shared, name), path.join(modules, name));
  }
  const lock = JSON.parse(readFileSync(path.join(project, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly optional?: boolean }>>;
  };
  const packages = Object.entries(lock.packages).filter(
    ([place, { optional }]) => optional !== true || existsSync(path.join(project, place)),
  );
  const installed = JSON.stringify({ packages: Object.fromEntries(packages) });
  writeFileSync(path.join(modules, '.package-lock.json'), installed);
}

describe.runIf(builds('release'))('npm run release, on a clone', () => {
  let folder: string;
  let clone: string;

  interface Ran {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
  }

  async function run(program: string, ...args: readonly string[]): Promise<Ran> {
    try {
      const env = { ...environment(folder), TMPDIR: path.join(folder) };
      return { code: 0, ...(await promisify(execFile)(program, args, { cwd: clone, env })) };
    } catch (error) {
      const { code, stdout, stderr } = error as Ran;
      return { code, stdout, stderr };
    }
  }
  const release = (...args: readonly string[]) => run('npm', 'run', '--silent', 'release', '--', ...args);

  async function commit(): Promise<void> {
    const who = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.com'];
    await run('git', 'add', '--all');
    expect(await run('git', ...who, 'commit', '--quiet', '--message', 'All')).toMatchObject({ code: 0 });
  }

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'breakwater-release-test-'));
    clone = path.join(folder, 'clone');
    await copyProject(clone);
    pretendInstalled(clone);
    await run('git', 'init', '--quiet', '--initial-branch', 'main');
    await commit();
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('a dry run names everything that is missing, and builds nothing', async () => {
    writeFileSync(path.join(clone, 'CHANGELOG.md'), CHANGELOG);
    appendFileSync(path.join(clone, 'README.md'), 'More.\n');
    const { version } = JSON.parse(readFileSync(path.join(clone, 'package.json'), 'utf8')) as {
      version: string;
    };
    const { code, stdout, stderr } = await release('--dry-run');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.trim().split('\n')).toEqual([
      'breakwater: the tree is not clean: CHANGELOG.md, README.md',
      `breakwater: CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD"`,
    ]);
  });

  // Each builds everything: one per run, both with FULL=1.
  const ways = sliceOf(['without an image', 'with an image'], 2, 'ways to release');
  let dry: Ran;
  let version: string;

  test('a dry run shows checksums, and writes nothing', async () => {
    const manifest = path.join(clone, 'package.json');
    ({ version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string });
    const section = CHANGELOG.replace('[1.2.3]', `[${version}]`);
    writeFileSync(path.join(clone, 'CHANGELOG.md'), section);
    await commit();
    // Not committed, and therefore not in the package.
    writeFileSync(path.join(clone, 'docs', 'mine.log'), 'mine\n');
    const before = readdirSync(folder);
    dry = await release('--dry-run');
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('a dry run: ')]);
    expect(existsSync(path.join(clone, 'release'))).toBe(false);
    expect(readdirSync(folder).filter((name) => !before.includes(name) && name !== '.npm-cache')).toEqual([]);
    for (const command of [`git push origin HEAD v${version}`, `docker push REGISTRY/breakwater:${version}`])
      expect(dry.stdout).toContain(command);
  });

  const namesOf = (): readonly string[] => [
    `breakwater-${version}.tgz`,
    `breakwater-${version}.sbom.cdx.json`,
    'NOTES.md',
  ];

  /** The written files equal the dry run, without a tag or a change of the tree. */
  async function expectAsShown(): Promise<string> {
    const out = path.join(clone, 'release', version);
    const names = namesOf();
    const sums = names.map((name) => {
      const hash = createHash('sha256')
        .update(readFileSync(path.join(out, name)))
        .digest('hex');
      return `${hash}  ${name}\n`;
    });
    expect(dry.stdout).toContain(sums.join(''));
    expect(readFileSync(path.join(out, 'NOTES.md'), 'utf8')).toBe('### Added\n\n- A thing.\n');
    const sbom = JSON.parse(readFileSync(path.join(out, names[1] ?? ''), 'utf8')) as object;
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { version } } });
    const { stdout: packed } = await run('tar', '-tzf', path.join(out, names[0] ?? ''));
    expect(packed).toContain('package/dist/src/cli/main.js');
    expect(packed).not.toContain('mine.log');
    expect(await run('git', 'tag')).toMatchObject({ stdout: '' });
    expect(await run('git', 'status', '--porcelain')).toMatchObject({ stdout: '' });
    return sums.join('');
  }

  test.runIf(ways.includes('without an image'))('the run writes what the dry run showed', async () => {
    const real = await release();
    expect([real.code, real.stdout]).toEqual([0, dry.stdout]);
    const sums = await expectAsShown();
    const out = path.join(clone, 'release', version);
    expect(readdirSync(out).sort()).toEqual([...namesOf(), 'SHA256SUMS'].sort());
    expect(readFileSync(path.join(out, 'SHA256SUMS'), 'utf8')).toBe(sums);
  });

  test.runIf(ways.includes('with an image'))(
    'the image is built from the commit, and its digest is in a file with a checksum',
    async () => {
      // Without an engine, a stub records the request and the build context.
      const stub = `#!/bin/sh
printf '%s\\n' "$@" > "$TMPDIR/asked"
ls > "$TMPDIR/context"
for last; do [ "$previous" = --iidfile ] && printf 'sha256:%064d' 7 > "$last"; previous=$last; done
`;
      const programs = path.join(folder, 'programs');
      mkdirSync(programs);
      writeFileSync(path.join(programs, 'docker'), stub, { mode: 0o755 });
      const { PATH } = environment(folder);
      const asked = 'npm run --silent release -- --image registry.example.com/breakwater'.split(' ');
      const { code, stdout } = await run('env', `PATH=${programs}:${PATH}`, ...asked);
      expect(code).toBe(0);
      const image = `registry.example.com/breakwater:${version}`;
      expect(readFileSync(path.join(folder, 'asked'), 'utf8')).toContain(`build\n--tag\n${image}\n`);
      expect(readFileSync(path.join(folder, 'context'), 'utf8')).toContain('Dockerfile\n');
      expect(readFileSync(path.join(folder, 'context'), 'utf8')).not.toContain('release\n');
      const out = path.join(clone, 'release', version);
      expect(readFileSync(path.join(out, 'IMAGE'), 'utf8')).toBe(
        `${image} sha256:${'7'.padStart(64, '0')}\n`,
      );
      expect(readFileSync(path.join(out, 'SHA256SUMS'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}IMAGE$/m);
      expect(stdout).toContain(`docker push ${image}\n`);
      expect(stdout).not.toContain('docker build');
      expect(stdout).toContain(await expectAsShown());
    },
  );

  test('an existing tag of this version and an unknown option are reported', async () => {
    await run('git', 'tag', `v${version}`);
    expect(await release('--dry-run')).toMatchObject({
      code: 1,
      stderr: `breakwater: the tag v${version} is there already: raise the version\n`,
    });
    expect(await release('--push')).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: ') });
  });
});
