import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { freePort } from '../support/redis.ts';

/** A real Prometheus with the project's rules, which scrapes one process. */

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  /** The last value that is a number. */
  readonly value: number;
}

export interface Prometheus {
  readonly url: string;
  /** The current value. @throws the message of Prometheus for an invalid query */
  query(expr: string): Promise<readonly Sample[]>;
  /** Series that have had a value since it was started. */
  range(expr: string): Promise<readonly Sample[]>;
  /** `label_values(metric, label)`, as a variable of Grafana queries it. */
  labelValues(selector: string, label: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export function hasPrometheus(): boolean {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.some((folder) => existsSync(path.join(folder, 'prometheus')));
}

const RULES = fileURLToPath(new URL('../../config/prometheus/rules/', import.meta.url));
const SCRAPE_MS = 500;
const STEP_S = 1;
const READY_WITHIN_MS = 240_000;

export async function startPrometheus(options: {
  readonly target: string;
  readonly token: string;
}): Promise<Prometheus> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-prometheus-'));
  await writeFile(path.join(folder, 'token'), options.token);
  await writeFile(path.join(folder, 'prometheus.yml'), configOf(folder, options.target));
  let last: unknown;
  // Another process may have taken the port meanwhile.
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = await freePort();
    const child = launch(folder, port);
    const url = `http://127.0.0.1:${port}`;
    const stop = async (): Promise<void> => {
      await end(child.process);
      await rm(folder, { recursive: true, force: true });
    };
    try {
      await ready(url, child);
      return { ...queries(url, Date.now()), url, stop };
    } catch (error) {
      last = error;
      await end(child.process);
    }
  }
  await rm(folder, { recursive: true, force: true });
  throw last;
}

function configOf(folder: string, target: string): string {
  return stringify({
    global: { scrape_interval: `${SCRAPE_MS}ms`, evaluation_interval: '1s' },
    rule_files: [path.join(RULES, '*.yml')],
    scrape_configs: [
      {
        job_name: 'breakwater',
        authorization: { credentials_file: path.join(folder, 'token') },
        static_configs: [{ targets: [target] }],
      },
    ],
  });
}

interface Launched {
  readonly process: ChildProcess;
  output(): string;
}

function launch(folder: string, port: number): Launched {
  const child = spawn(
    'prometheus',
    [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  child.stderr?.on('data', (chunk) => {
    output += String(chunk);
  });
  return { process: child, output: () => output };
}

async function ready(url: string, child: Launched): Promise<void> {
  const giveUpMs = performance.now() + READY_WITHIN_MS;
  for (;;) {
    if (
      await fetch(`${url}/-/ready`, CLOSING).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    if (child.process.exitCode !== null || performance.now() > giveUpMs) {
      throw new Error(`Prometheus did not start: ${child.output()}`);
    }
    await sleep(50);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** No connection stays open. */
const CLOSING = { headers: { connection: 'close' } } as const;

interface Answer<T> {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data: T;
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

function queries(url: string, startedMs: number): Omit<Prometheus, 'url' | 'stop'> {
  const ask = async <T>(target: string, parameters: Record<string, string>): Promise<T> => {
    const reply = await fetch(
      `${url}/api/v1/${target}?${new URLSearchParams(parameters).toString()}`,
      CLOSING,
    );
    const answer = (await reply.json()) as Answer<T>;
    if (answer.status !== 'success') throw new Error(`${answer.error}: ${JSON.stringify(parameters)}`);
    return answer.data;
  };
  return {
    async query(expr) {
      const { result } = await ask<{ result: readonly Series[] }>('query', { query: expr });
      return result.flatMap(lastNumber);
    },
    async range(expr) {
      const nowS = Date.now() / 1000;
      const { result } = await ask<{ result: readonly Series[] }>('query_range', {
        query: expr,
        start: String(startedMs / 1000),
        end: String(nowS),
        step: String(STEP_S),
      });
      return result.flatMap(lastNumber);
    },
    labelValues: (selector, label) => ask(`label/${label}/values`, { 'match[]': selector }),
  };
}

function lastNumber({ metric, value, values }: Series): Sample[] {
  const all = (values ?? (value === undefined ? [] : [value])).map(([, text]) =>
    text === '+Inf' ? Number.POSITIVE_INFINITY : text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text),
  );
  const last = all.findLast((each) => !Number.isNaN(each));
  return last === undefined ? [] : [{ metric, value: last }];
}
