import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { ruleInWords } from '../../src/config/words/rules.ts';
import type { YamlNode } from '../../src/config/yaml/document.ts';
import { parseYaml } from '../../src/config/yaml/parse.ts';
import { digitsOf } from '../../src/config/yaml/value.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import { runsOf, sliceOf } from '../support/slice.ts';
import { FILE, surroundings } from './support.ts';

const EXAMPLE = readFileSync(new URL('../../config/breakwater.example.yaml', import.meta.url), 'utf8');
const SECRETS = ['s3cr3t-key-value', 's3cr3t-secret-value'] as const;
/** Everything the example needs, so that any refusal comes from the change. */
const GIVEN = {
  env: {
    DESK1_API_KEY: SECRETS[0],
    K: SECRETS[0],
    SLACK_WEBHOOK_URL: 'https://slack.example/hook',
    TELEGRAM_BOT_TOKEN: '123456:planted-token-of-some-length',
    HOOK_URL: 'https://hook.example/',
  },
  files: {
    '/run/secrets/desk1': SECRETS[1],
    '/run/secrets/redis-url': 'rediss://breakwater:a-long-password-of-redis@redis.example:6379',
    '/run/secrets/hook': 'a-secret-of-the-hook-long-enough-000',
  },
};

/** For any text: a clear error or a valid config, never an exception. The checks are plain, as they are many. */
function judge(text: string): 'loaded' | 'refused' {
  const result = loadConfig(FILE, surroundings(text, GIVEN));
  const problems = result.kind === 'loaded' ? result.warnings : result.problems;
  const lineCount = text.split(/\r\n|\n|\r/).length;
  for (const problem of problems) {
    const line = formatProblem(problem);
    const clear =
      /^\S+:\d+:\d+.*: .*expected .+/s.test(line) &&
      !/undefined|\[object/.test(line) &&
      !SECRETS.some((secret) => line.includes(secret)) &&
      (problem.place.file !== FILE || problem.place.line <= lineCount);
    if (!clear) throw new Error(`not a clear error: ${line}`);
  }
  if (result.kind === 'refused') {
    if (problems.every(({ severity }) => severity === 'warning')) throw new Error('refused without an error');
    return 'refused';
  }
  // A valid config can be used: the core compiles its rules, and they have words.
  for (const { rules, settings } of result.config.accounts) {
    compileRules(rules, settings);
    const unclear = rules.map(ruleInWords).find((words) => /undefined|NaN|\[object/.test(words));
    if (unclear !== undefined) throw new Error(`not clear words: ${unclear}`);
  }
  return 'loaded';
}

describe('any text is a clear error or a valid config', () => {
  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        judge(Buffer.from(bytes).toString('utf8'));
      }),
      { numRuns: runsOf(500) },
    );
  });

  test('random text of the characters with a meaning in YAML', () => {
    const alphabet = [
      ...'{}[]:,-&*!|>%@#?"\'\\ \n\t~<=a1.'.split(''),
      'rules',
      'accounts',
      'exchange',
      'when',
      ': ',
      '\n  - ',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...alphabet), { maxLength: 200 }), (parts) => {
        judge(parts.join(''));
      }),
      { numRuns: runsOf(1000) },
    );
  });

  test('random YAML of known keys and values of all kinds', () => {
    const keys = [
      ...new Set([...nodes(root())].flatMap(({ path }) => path.filter((part) => typeof part === 'string'))),
    ];
    const leaf = fc.oneof(
      fc.constantFrom(
        '5%',
        '3s',
        'BTC_PERP',
        '*',
        '',
        'log',
        'balanced',
        'yes',
        'position',
        null,
        true,
        0,
        1,
        -1,
        1e99,
      ),
      fc.double(),
      fc.string({ maxLength: 10 }),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        leaf,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(PLAIN as object)), tree), (value) => {
        judge(stringify(value, { aliasDuplicateObjects: false }));
      }),
      { numRuns: runsOf(200) },
    );
  });

  test('the example with random characters inserted, replaced or removed', () => {
    const edit = fc.tuple(fc.nat(EXAMPLE.length), fc.nat(6), fc.string({ unit: 'binary', maxLength: 4 }));
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
        let text = EXAMPLE;
        for (const [at, length, insert] of edits) text = text.slice(0, at) + insert + text.slice(at + length);
        judge(text);
      }),
      { numRuns: runsOf(100) },
    );
  });
});

/** Each mutation loads the whole example: a run tries some of its nodes, `FULL=1` all. */
const SHARE = 16;

describe('every single-key mutation of the example', () => {
  const all = [...nodes(root())].filter(({ path }) => path.length > 0);
  const some = sliceOf(all, SHARE, 'nodes of the example');
  const required =
    /^(exchange|exchange\.baseUrls|accounts|accounts\.0\.(id|apiKey|apiSecret)|markets\.[A-Z_]+\.(amountStep|priceStep|minAmount|maintenanceMargin)|rules\.\d+\.(id|on|when))$/;

  test('there are enough mutations', () => expect(all.length).toBeGreaterThan(200));

  test('without a mutation it loads, as the file and as its values', () => {
    expect([judge(EXAMPLE), judge(mutated(['mode'], (value) => value))]).toEqual(['loaded', 'loaded']);
  });

  test('deleted', () => {
    for (const { path } of some) {
      const verdict = judge(mutated(path, () => undefined));
      if (required.test(path.join('.'))) expect([path, verdict]).toEqual([path, 'refused']);
    }
  });

  test('renamed: no key is parsed and ignored', () => {
    const accepted = some
      .filter(({ path }) => typeof path.at(-1) === 'string' && !namesOfOurOwn(path))
      .filter(({ path }) => judge(mutated(path, (value) => value, 'zzz')) === 'loaded');
    expect(accepted.map(({ path }) => path.join('.'))).toEqual([]);
  });

  test('of the wrong type', () => {
    const accepted = some.flatMap(({ path, node }) =>
      wrongTypes(node)
        .filter((wrong) => judge(mutated(path, () => wrong)) === 'loaded')
        .map((wrong) => `${path.join('.')}: ${JSON.stringify(wrong)}`),
    );
    expect(accepted).toEqual([]);
  });

  test.each(['-1', '1e300', '-5%', '100000%', '99999d'])('out of range: %s', (wrong) => {
    const measured = all.filter(({ node }) => /^\d+(\.\d+)?(%|ms|s|m|h)?$/.test(scalarText(node)));
    expect(measured.length).toBeGreaterThan(60);
    const value = Number.isNaN(Number(wrong)) ? wrong : Number(wrong);
    const accepted = sliceOf(measured, SHARE, 'measures of the example').filter(
      ({ path }) => judge(mutated(path, () => value)) === 'loaded',
    );
    expect(accepted.map(({ path }) => path.join('.')).filter((path) => !TAKES_MUCH.test(path))).toEqual([]);
  });
});

/** Values of other types than the present one. */
function wrongTypes({ value }: YamlNode): readonly unknown[] {
  if (typeof value === 'string') return [{ zzz: 1 }, null, 12_345];
  if (typeof value === 'object') return ['zz zz', 12_345, null];
  return [{ zzz: 1 }, 'zz zz'];
}

function scalarText({ value }: YamlNode): string {
  return digitsOf(value) ?? (typeof value === 'string' ? value : '');
}

/** Keys without bounds, which take most values of their kind. */
const TAKES_MUCH = /(referencePrice|labels\.\w+|\.(below|above|clearAbove|clearBelow))$/;

type Path = readonly (string | number)[];

function root(): YamlNode {
  const { document } = parseYaml(EXAMPLE, FILE);
  if (document === undefined) throw new Error('the example is no YAML');
  return document.root;
}

function* nodes(node: YamlNode, path: Path = []): Generator<{ path: Path; node: YamlNode }> {
  yield { path, node };
  for (const [key, child] of node.children) yield* nodes(child, [...path, key]);
}

/** Keys whose names the owner chooses: markets, channels, links, users, budgets, groups, labels and rules. */
function namesOfOurOwn(path: Path): boolean {
  const text = path.join('.');
  return (
    /^(markets|channels|egress|exchange\.limits|notify\.links|web\.users)\.[^.]+$/.test(text) ||
    /\.?labels\.[^.]+$/.test(text)
  );
}

const PLAIN = plain(root());

/** The example as YAML with one value changed, dropped (`undefined`) or under another key. */
function mutated(path: Path, change: (value: unknown) => unknown, rename?: string): string {
  const value = structuredClone(PLAIN);
  let parent = value as Record<string | number, unknown>;
  for (const part of path.slice(0, -1)) parent = parent[part] as Record<string | number, unknown>;
  const key = path.at(-1) ?? '';
  const changed = change(parent[key]);
  if (Array.isArray(parent)) {
    parent.splice(Number(key), 1, ...(changed === undefined ? [] : [changed]));
  } else {
    // eslint-disable-next-line typescript/no-dynamic-delete
    delete parent[key];
    if (changed !== undefined) parent[rename ?? key] = changed;
  }
  return stringify(value, { aliasDuplicateObjects: false });
}

function plain(node: YamlNode): unknown {
  const digits = digitsOf(node.value);
  if (digits !== undefined) return Number(digits);
  if (Array.isArray(node.value)) return [...node.children.values()].map(plain);
  if (typeof node.value !== 'object' || node.value === null) return node.value;
  return Object.fromEntries([...node.children].map(([key, child]) => [key, plain(child)]));
}
