import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { SimulatorOptions } from '../../src/simulator/start-simulated-exchange.ts';
import { createOperatorTrust } from '../../src/state/controls/operator-seal.ts';
import { createRedisState, type State } from '../../src/state/state.ts';
import { closeAfterTest, openExchange } from '../contract/support/world.ts';
import { type ConfigParts, OPERATORS_KEY } from '../daemon/config.ts';
import { type DaemonWorld, openDaemonWorld } from '../daemon/world.ts';
import { type CliRun, type CliRunOptions, runCommandLine } from '../support/cli.ts';

/** A rule that never fires, so that everything that happens was ordered by an operator. */
export const FAR = `  - id: far
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ reduce: { by: 10%, slippage: 1% } }]
`;

/** A Redis, a config file and an exchange; the stored state as daemons read it; and a person at a shell. */
export interface OperatorWorld extends DaemonWorld {
  readonly state: State;
  /** The arguments of a command, without `--config`. */
  cli(args: readonly string[], options?: CliRunOptions): Promise<CliRun>;
}

/** An operator world with a daemon that answers commands and polls nothing, so that what they leave stays. */
export async function openAnsweringWorld(
  parts: Partial<ConfigParts> = {},
  options: SimulatorOptions = {},
): Promise<OperatorWorld> {
  const world = await openOperatorWorld(parts, options);
  await world.start({ roles: ['web'], ordinal: 1 });
  return world;
}

export async function openOperatorWorld(
  parts: Partial<ConfigParts> = {},
  options: SimulatorOptions = {},
): Promise<OperatorWorld> {
  const simulator = await openExchange({ speed: 1, ...options });
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['far'] }, hedged: { rules: ['far'] } },
    rules: FAR,
    ...parts,
  });
  return {
    ...world,
    state: openState(world),
    cli: (args, options = {}) =>
      runCommandLine([...args, '--config', world.configFile], { env: world.env, ...options }),
  };
}

/** The shared state as another process sees it. */
export function openState(
  { redisUrl, prefix }: Pick<DaemonWorld, 'redisUrl' | 'prefix'>,
  key = OPERATORS_KEY,
): State {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  const operators = createOperatorTrust({ key: () => key, isGuarded: false });
  const state = createRedisState({ redis, prefix, clock: systemClock, operators, timeoutMs: 60_000 });
  closeAfterTest(async () => {
    state.close();
    redis.disconnect();
  });
  return state;
}

/** What a person said before; no daemon runs that could be asked. null: of every account. */
export async function pauseIn({ state }: Pick<OperatorWorld, 'state'>, accountId: string | null, by = {}) {
  const said = { author: 'ann', reason: 'test', ...by };
  return await state.controls.put({ kind: 'pause', accountId, expiresAtMs: null, ...said });
}

/** Throws with the output of the command. */
export function expectOk(run: CliRun): void {
  expectEnd(run, EXIT.ok);
}

export function expectEnd({ exitCode, stderr, stdout }: CliRun, wanted: number): void {
  if (exitCode !== wanted) expect.fail(`ended with ${exitCode}: ${stderr}${stdout}`);
}

export function jsonLines(run: CliRun): Record<string, unknown>[] {
  const lines = run.stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The one line that a command printed with `--json`. */
export function json(run: CliRun): Record<string, unknown> {
  const lines = jsonLines(run);
  if (lines.length !== 1) throw new Error(`not one line: ${run.stdout}${run.stderr}`);
  return lines[0] ?? {};
}

export async function stored(state: State, accountId: string) {
  const { load, controls } = await state.store.read(accountId);
  if (load.kind === 'refused') throw new Error(load.problem.message);
  return { account: load.account, controls };
}
