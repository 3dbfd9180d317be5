import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { killWithUs } from '../../src/redis-server/kill-with-us.ts';
import type { LinkEnd, LinkState } from '../../src/world/machine.ts';
import type { DaemonSpec } from '../../src/world/spec.ts';
import { type Link, openLink } from '../outages/link.ts';
import type { Closers } from '../support/closers.ts';
import { until } from '../support/until.ts';

export const PREFIX = 'bw';
const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
/** Compile cache: compiling the sources takes most of a start. */
const COMPILED = path.join(import.meta.dirname, '../../node_modules/.cache/node-compile');
const WATCHES_WITHIN_MS = 240_000;
const LINK_STATES = { up: 'open', down: 'refused', deaf: 'oneWay' } as const;

export interface RealSurroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly redisPort: number;
  readonly regionPorts: readonly number[];
  readonly closers: Closers;
}

/** A daemon of a world in its own process, with its own proxies to Redis and to the exchange. */
export class RealDaemon {
  readonly name: string;
  /** Unexpected behaviour. */
  readonly errors: string[] = [];
  readonly #ordinal: number;
  readonly #env: RealSurroundings['env'];
  readonly #configFile: string;
  readonly #toRedis: Link;
  readonly #toExchange: readonly Link[];
  #link: LinkState = 'up';
  #store: 'up' | 'down' = 'up';
  #child: ChildProcess | undefined;
  #output = '';

  private constructor(
    { name }: DaemonSpec,
    ordinal: number,
    { env }: RealSurroundings,
    place: { configFile: string; toRedis: Link; toExchange: readonly Link[] },
  ) {
    this.name = name;
    this.#ordinal = ordinal;
    this.#env = env;
    this.#configFile = place.configFile;
    this.#toRedis = place.toRedis;
    this.#toExchange = place.toExchange;
  }

  static async open(spec: DaemonSpec, ordinal: number, surroundings: RealSurroundings): Promise<RealDaemon> {
    const { closers, redisPort, regionPorts } = surroundings;
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-matrix-'));
    closers.add(() => rm(folder, { recursive: true, force: true }));
    const link = async (port: number): Promise<Link> => {
      const opened = await openLink(port);
      closers.add(() => opened.close());
      return opened;
    };
    const toRedis = await link(redisPort);
    const toExchange = await Promise.all(regionPorts.map(link));
    const configFile = path.join(folder, 'breakwater.yaml');
    const daemon = new RealDaemon(spec, ordinal, surroundings, { configFile, toRedis, toExchange });
    await daemon.#write(spec.config);
    closers.add(() => daemon.kill());
    return daemon;
  }

  async #write(config: string): Promise<void> {
    const addresses = this.#toExchange.map(({ port }) => `"http://127.0.0.1:${port}"`).join(', ');
    const here = `insecure: [redis]
redis: { url: "redis://127.0.0.1:${this.#toRedis.port}", prefix: "${PREFIX}" }
web: { port: 0 }
operators: { key: { env: OPERATORS_KEY } }
`;
    const text = here + config.replace(/baseUrls: \[.*\]/, `baseUrls: [${addresses}]`);
    await writeFile(this.#configFile, text, { mode: 0o600 });
  }

  /** Resolves when it watches. */
  async start(): Promise<void> {
    const args = [MAIN, 'run', '--config', this.#configFile, '--instance', String(this.#ordinal)];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...this.#env },
    });
    killWithUs(child);
    this.#child = child;
    let said = '';
    const take = (chunk: Buffer): void => {
      said += String(chunk);
      this.#output += String(chunk);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const isWatching = (): boolean => this.#child !== child || isOver(child) || said.includes('watching ');
    await until(isWatching, `${this.name} to watch`, {
      withinMs: WATCHES_WITHIN_MS,
      about: () => said.slice(-1_500),
    });
    if (this.#child === child && isOver(child)) this.errors.push(`${this.name} ended: ${said.slice(-500)}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async reload(config: string): Promise<void> {
    await this.#write(config);
    this.signal('SIGHUP');
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    if (isOver(child)) {
      this.errors.push(`${this.name} had ended by itself: ${this.#output.slice(-500)}`);
      return;
    }
    const ended = once(child, 'exit');
    child.kill(signal);
    // A suspended process ends only once it is resumed.
    child.kill('SIGCONT');
    await ended;
  }

  setLink(to: LinkEnd, state: LinkState): void {
    if (to === 'exchange') for (const link of this.#toExchange) link.set(LINK_STATES[state]);
    else {
      this.#link = state;
      this.#applyToStore();
    }
  }

  setStore(state: 'up' | 'down'): void {
    this.#store = state;
    this.#applyToStore();
  }

  #applyToStore(): void {
    this.#toRedis.set(LINK_STATES[this.#store === 'down' ? 'down' : this.#link]);
  }

  said(): string {
    return this.#output;
  }
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
