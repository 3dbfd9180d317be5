import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatorVocabulary } from '../../src/app.ts';
import { FAULT_KINDS } from '../../src/simulator/http/faults.ts';
import { CONDITION_KINDS } from '../../src/simulator/model/market-condition.ts';
import { READING_CHOICES, READING_DURATIONS } from '../../src/simulator/model/readings.ts';
import { SCENARIOS } from '../../src/simulator/scenarios/scenarios.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { runCommandLine } from '../support/cli.ts';

/** The tables of docs/simulator.md match the code; on a difference, the message has the text to paste. */

const guide = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8');

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulatedExchange({ accounts: 1 });
});
afterAll(() => simulator.close());

function section(name: string): string {
  return (
    new RegExp(`<!-- ${name} -->([^]*?)<!-- /${name} -->`).exec(guide)?.[1]?.trim() ?? `no section ${name}`
  );
}

const code = (text: string) => `\`${text}\``;

/** A pipe inside a table must be escaped, even inside code. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly doc: string;
  readonly example?: unknown;
}

async function control(path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(`${simulator.controlUrl}${path}`, init);
  return await response.json();
}

describe('docs/simulator.md', () => {
  it('lists every operation of the control API, with an example', async () => {
    const { endpoints } = (await control('/')) as { endpoints: Listed[] };
    const rows = endpoints.map(({ method, path, doc, example }) => [
      code(`${method} ${path}`),
      doc.replaceAll('*', '\\*'),
      example === undefined ? '' : code(JSON.stringify(example)),
    ]);
    expect(section('control')).toBe(table(['Operation', 'Does', 'Body, for example'], rows));
  });

  it('lists every scenario', () => {
    const rows = Object.entries(SCENARIOS).map(([name, { note, magnitude, direction, durationMs }]) => [
      code(name),
      note,
      `${direction < 0 ? '-' : '+'}${Math.round(Number(magnitude) * 100)} %`,
      durationMs < 3_600_000 ? `${durationMs / 60_000} min` : `${durationMs / 3_600_000} h`,
    ]);
    expect(section('scenarios')).toBe(table(['Scenario', 'What happens', 'Move', 'Takes'], rows));
  });

  it('lists every fault', () => {
    const rows = Object.entries(FAULT_KINDS).map(([name, note]) => [code(name), note]);
    expect(section('faults')).toBe(table(['Fault', 'What goes wrong'], rows));
  });

  it('lists every condition of a market', () => {
    const rows = Object.entries(CONDITION_KINDS).map(([name, note]) => [code(name), note]);
    expect(section('conditions')).toBe(table(['Condition', 'What changes'], rows));
  });

  it('lists the endpoints that a fault can target', () => {
    expect(section('endpoints')).toBe(simulator.exchange.endpointNames.map(code).join(', '));
  });

  it('lists every reading with its values', () => {
    const choices = Object.entries(READING_CHOICES).map(([name, { values, live, note }]) => [
      code(name),
      values.map(code).join(', '),
      live === values[0] ? '' : code(live),
      note,
    ]);
    const durations = Object.entries(READING_DURATIONS).map(([name, note]) => [
      code(name),
      'ms, 0',
      '',
      note,
    ]);
    expect(section('readings')).toBe(
      table(['Reading', 'Values', 'Live', 'Decides'], [...choices, ...durations]),
    );
  });

  it('names every scenario, fault and reading that the command line knows', async () => {
    const words = Object.values(await simulatorVocabulary()).flatMap((entries) => Object.keys(entries));
    const missing = words
      .map((word) => word.split('=')[0] ?? word)
      .filter((word) => !guide.includes(code(word)));
    expect(missing).toEqual([]);
  });

  it('names every value of every reading that the command line knows', async () => {
    const { readings } = await simulatorVocabulary();
    const withValues = Object.keys(readings).filter((text) => text.includes('|'));
    expect(withValues.length).toBeGreaterThan(0);
    for (const reading of withValues) {
      const [name = '', values = ''] = reading.split('=');
      const row = guide.split('\n').find((line) => line.startsWith(`| ${code(name)} |`));
      expect({ name, values: row?.split(' | ')[1] }).toEqual({
        name,
        values: values.split('|').map(code).join(', '),
      });
    }
  });

  it('has curl examples that the control API accepts', async () => {
    const examples = [
      ...guide.matchAll(/^curl (?:-X (\w+) )?"?\$C(\/[^\s"]*)"?(?: -H "\$J" -d '([^']*)')?/gm),
    ];
    expect(examples.length).toBeGreaterThan(8);
    for (const [line, method = 'GET', path = '', body] of examples) {
      const sent = body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } };
      const answer = await control(path, { method, ...sent });
      expect({ line, answer }).not.toHaveProperty('answer.error');
    }
  });

  it('has command lines with existing options', async () => {
    const lines = [...guide.matchAll(/^breakwater (\w+)[^#]*?(?=\s+#|$)/gm)];
    expect(lines.length).toBeGreaterThan(5);
    for (const [line, command = ''] of lines) {
      const help = (await runCommandLine([command, '--help'])).stdout;
      const unknown = [...line.matchAll(/--[a-z-]+/g)].filter(([option]) => !help.includes(`${option} `));
      expect(unknown).toEqual([]);
    }
  });
});
