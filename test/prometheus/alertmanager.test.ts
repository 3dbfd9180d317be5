import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { run } from '../support/programs.ts';
import { RULE_FILES } from './rule-files.ts';

interface Route {
  readonly receiver: string;
  readonly matchers?: readonly string[];
  readonly routes?: readonly Route[];
}

interface Config {
  readonly route: Route;
  readonly receivers: readonly Readonly<Record<string, unknown>>[];
  readonly inhibit_rules: readonly {
    readonly source_matchers: readonly string[];
    readonly target_matchers: readonly string[];
    readonly equal?: readonly string[];
  }[];
}

const file = fileURLToPath(new URL('../../config/alertmanager/alertmanager.yml', import.meta.url));
const config = parse(readFileSync(file, 'utf8')) as Config;
const names = [...readFileSync(RULE_FILES[1] ?? '', 'utf8').matchAll(/^ +- alert: (\S+)$/gm)].map(
  ([, name = '']) => name,
);
const MISSING = 'amtool is not installed (Debian: apt-get install prometheus-alertmanager)';

/** Alerts that the matchers on `alertname` select. */
function selected(matchers: readonly string[]): string[] {
  const tests = matchers
    .map((matcher) => /^alertname (=~|!=|=) "?([^"]+)"?$/.exec(matcher))
    .filter((match) => match !== null)
    .map(([, operator, value = '']) => {
      const pattern = new RegExp(`^(?:${value})$`);
      return (name: string) =>
        operator === '!=' ? name !== value : operator === '=' ? name === value : pattern.test(name);
    });
  return names.filter((name) => tests.every((matches) => matches(name)));
}

const routes: readonly Route[] = [config.route, ...(config.route.routes ?? [])];

describe('the Alertmanager example', () => {
  test('routes to existing receivers, and they hold no secret', () => {
    const receivers = config.receivers.map(({ name }) => name);
    for (const { receiver } of routes) expect(receivers).toContain(receiver);
    for (const receiver of config.receivers) expect(Object.keys(receiver)).toEqual(['name']);
  });

  test('names only existing alerts', () => {
    const matchers = [
      ...routes.map((route) => route.matchers ?? []),
      ...config.inhibit_rules.flatMap((rule) => [rule.source_matchers, rule.target_matchers]),
    ].filter((each) => each.some((matcher) => matcher.startsWith('alertname')));
    expect(matchers.length).toBeGreaterThan(10);
    for (const each of matchers) {
      expect([each, selected(each).length]).toEqual([each, expect.any(Number)]);
      expect(selected(each)).not.toEqual([]);
      const alternatives = /\(([^)]+)\)/.exec(each.join())?.[1]?.split('|') ?? [];
      if (alternatives.length > 0) expect(selected(each)).toHaveLength(alternatives.length);
    }
  });

  test('no alert inhibits itself, and none inhibits the absence of the daemon', () => {
    for (const { source_matchers: sources, target_matchers: targets } of config.inhibit_rules) {
      expect(selected(targets)).not.toContain('BreakwaterDaemonAbsent');
      for (const source of selected(sources)) expect(selected(targets)).not.toContain(source);
    }
    // Alerts sent by the daemon itself have the label `source` and are never inhibited by its absence.
    expect(config.inhibit_rules[0]?.target_matchers).toContain('source = ""');
  });

  test('amtool finds nothing wrong with it, and alerts reach the right receivers', async ({ skip }) => {
    const checked = (await run('amtool', ['check-config', file])) ?? skip(MISSING);
    expect(checked).toMatchObject({ code: 0 });
    const receivers = {
      'alertname=BreakwaterDaemonAbsent severity=critical': 'on-call',
      'alertname=BreakwaterBlind severity=critical': 'on-call',
      'alertname=BreakwaterLtvHigh severity=warning': 'desk',
      'alertname=near-liquidation severity=critical source=breakwater': 'on-call',
    };
    for (const [labels, receiver] of Object.entries(receivers)) {
      const routed = await run('amtool', [
        'config',
        'routes',
        'test',
        `--config.file=${file}`,
        `--verify.receivers=${receiver}`,
        ...labels.split(' '),
      ]);
      expect(routed).toMatchObject({ code: 0 });
    }
  });
});
