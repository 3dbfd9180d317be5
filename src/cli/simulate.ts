import { once } from 'node:events';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import path from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { RunningSimulator, SimulatorOptions } from '../app.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, paint, printJson, printLine } from './io.ts';
import { collect, collectReading, reading, whole } from './option-values.ts';
import { refuseToSimulate, SEE_LIST } from './simulator-errors.ts';

interface Flags {
  readonly port: number;
  readonly euPort: number;
  readonly controlPort: number;
  readonly host?: string;
  readonly keysDir?: string;
  readonly seed: number;
  readonly accounts: number;
  readonly nonce?: string;
  readonly margin?: string;
  readonly scenario?: string;
  readonly prices?: string;
  readonly market?: string;
  readonly still?: boolean;
  readonly volatility?: number;
  readonly speed: number;
  readonly readings?: readonly string[];
  readonly faults?: readonly string[];
  readonly conditions?: readonly string[];
  readonly depth?: string;
  readonly allowDomain?: readonly string[];
  readonly limits: boolean;
  readonly list?: boolean;
  readonly json?: boolean;
}

/** `breakwater simulate`: runs the whole exchange on this machine until it is stopped. */
export function registerSimulate(program: Command, io: CliIo): void {
  const command = program
    .command('simulate')
    .summary('run the simulated exchange')
    .description(
      'Runs the simulated exchange on this machine: the whole HTTP API at two base addresses, accounts with ' +
        'open positions, a moving market, and a control API for prices, faults and everything else.',
    );
  addPlaces(command);
  addMarket(command);
  addBehaviour(command);
  withJson(command);
  withExamples(command, {
    'three accounts and a random walk on free ports': 'simulate',
    'a crash, ten times as fast, on fixed ports':
      'simulate --port 8080 --control-port 8081 --scenario crash --speed 10',
    'every fifth order loses its reply; shorts are not signed':
      'simulate --faults lostReply,endpoint=stopLimit,probability=0.2 --readings shortAmount=unsigned',
    'thin books for five minutes of a crash':
      'simulate --scenario crash --conditions depth,market=BTC_PERP,factor=0.02,afterMs=9000,forMs=60000',
    'all scenarios, faults, conditions and readings': 'simulate --list',
  });
  withRemarks(
    command,
    '\nEnds with 0 when stopped by Ctrl-C or SIGTERM, 1 when a port is taken or a file cannot be used,\n' +
      '2 when an option makes no sense.',
  );
  command.action(async (flags: Flags) => {
    await (flags.list === true ? list(io, flags) : run(io, flags));
  });
}

function addPlaces(command: Command): void {
  const port = whole(0, 65_535);
  command
    .option('--port <port>', 'port of the first base address; 0 takes a free one', port, 0)
    .option('--eu-port <port>', 'port of the second base address', port, 0)
    .option('--control-port <port>', 'port of the control API', port, 0)
    .option(
      '--host <address>',
      'where it listens: 0.0.0.0 in a container; off 127.0.0.1 the control API needs a token (default: 127.0.0.1)',
      ipv4,
    )
    .option(
      '--keys-dir <folder>',
      'also writes the keys there, as ID.key, ID.secret and control.token, readable for you alone',
    )
    .option('--seed <number>', 'keys, prices and faults follow from it', whole(0, 0xff_ff_ff_ff), 1)
    .option('--accounts <number>', 'how many accounts, each with open positions', whole(0, 10_000), 3);
}

function addMarket(command: Command): void {
  command
    .option('--scenario <name>', 'play a scripted scenario (see --list) instead of a random walk')
    .option(
      '--prices <file>',
      'play candles (timestamp_ms,open,high,low,close,volume) or trades (timestamp_ms,price,amount)',
    )
    .option(
      '--market <name>',
      'the market that they move; the _PERP market of a spot market follows it. Without it a scenario and ' +
        'the walk move all, candles the first',
    )
    .option('--still', 'prices stand still until the control API moves them')
    .option(
      '--volatility <fraction>',
      'of the random walk, a day (default: 0.04, which is 4 %)',
      numberUpTo(10),
    )
    .option(
      '--speed <factor>',
      'exchange time per real time; 0 stands still until stepped',
      numberUpTo(1_000_000),
      1,
    )
    .option('--depth <factor>', 'multiplies the amounts in the order books');
}

function addBehaviour(command: Command): void {
  command
    .addOption(new Option('--nonce <rule>', 'nonce rule').choices(['unique', 'increasing']))
    .addOption(new Option('--margin <model>', 'margin model').choices(['cross', 'isolated']))
    .option(
      '--readings <name=value>',
      'an open reading of the specification, or live: all as the live service is documented (repeatable)',
      collectReading,
    )
    .option('--faults <fault>', 'a fault, kind,key=value,... (repeatable)', collect)
    .option(
      '--conditions <condition>',
      'what befalls a market, kind,key=value,... (repeatable): thin books, basis, halts',
      collect,
    )
    .option('--allow-domain <domain>', 'allowed for redirects of fiat deposits (repeatable)', collect)
    .option('--no-limits', 'lift the rate limits')
    .option('--list', 'print the scenarios, faults, conditions and readings, and end');
}

const SEE_HELP = 'See: breakwater simulate --help';

async function run(io: CliIo, flags: Flags): Promise<void> {
  const { simulate } = await import('../app.ts');
  const simulator = await simulate(await optionsOf(flags)).catch((error) =>
    refuseToSimulate(error, {
      otherwise: SEE_HELP,
      ports: { '--port': flags.port, '--eu-port': flags.euPort, '--control-port': flags.controlPort },
    }),
  );
  try {
    if (flags.keysDir !== undefined) await writeKeys(flags.keysDir, simulator);
    if (flags.json === true) printJson(io, listeningEvent(simulator));
    else printLine(io, welcome(io, simulator));
    if (!io.signal.aborted) await once(io.signal, 'abort');
  } finally {
    await simulator.close();
  }
  // Being stopped is the normal end of this command.
  io.setExitCode(EXIT.ok);
}

async function optionsOf(flags: Flags): Promise<SimulatorOptions> {
  const { market, still = false } = flags;
  const moved = flags.scenario !== undefined || flags.prices !== undefined;
  const refuseIf = (wrong: boolean, message: string, cure: string): void => {
    if (wrong) throw new UsageError(message, cure);
  };
  const both = flags.scenario !== undefined && flags.prices !== undefined;
  refuseIf(both, '--scenario and --prices exclude each other.', 'Give one of them.');
  refuseIf(moved && still, '--still excludes --scenario and --prices.', 'Leave it out.');
  const cannotMove = '--market says what moves, and --still that nothing does.';
  refuseIf(still && market !== undefined, cannotMove, 'Leave one of them out.');
  const noWalk = '--volatility is of the random walk, which does not run here.';
  refuseIf((moved || still) && flags.volatility !== undefined, noWalk, 'Leave it out.');
  return {
    port: flags.port,
    euPort: flags.euPort,
    controlPort: flags.controlPort,
    ...(flags.host === undefined ? {} : { host: flags.host }),
    seed: flags.seed,
    accounts: flags.accounts,
    speed: flags.speed,
    readings: readingsOf(flags),
    faults: flags.faults ?? [],
    conditions: flags.conditions ?? [],
    ...(flags.scenario === undefined ? {} : { scenario: { name: flags.scenario, market, noise: 0.0002 } }),
    ...(flags.prices === undefined ? {} : { candles: { csv: await readPrices(flags.prices), market } }),
    ...(moved || still ? {} : { walk: { market, dailyVolatility: flags.volatility ?? 0.04 } }),
    ...(flags.depth === undefined ? {} : { depth: flags.depth }),
    ...(flags.limits ? {} : { limits: [] }),
    ...(flags.allowDomain === undefined ? {} : { allowedDomains: flags.allowDomain }),
  };
}

/** Each file appears complete or not at all: a daemon that waits for it never reads half of it. */
async function writeKeys(folder: string, { accounts, controlToken }: RunningSimulator): Promise<void> {
  const { makeFolder } = await import('../app.ts');
  const files = accounts.flatMap(({ id, apiKey, apiSecret }) => [
    [`${id}.key`, apiKey],
    [`${id}.secret`, apiSecret],
  ]);
  if (controlToken !== undefined) files.push(['control.token', controlToken]);
  try {
    await makeFolder(folder);
    for (const [name = '', text] of files) {
      const file = path.join(folder, name);
      await writeFile(`${file}.new`, `${text}\n`, { mode: 0o600 });
      await rename(`${file}.new`, file);
    }
  } catch (error) {
    throw new CliError('file-unwritable', `cannot write keys to ${folder}: ${(error as Error).message}.`, {
      cause: error,
      cure: 'Give --keys-dir a folder that you may write to.',
    });
  }
}

async function readPrices(file: string): Promise<string> {
  const csv = await readFile(file, 'utf8').catch((error: Error) => {
    const cure = 'Give --prices a readable CSV file.';
    throw new CliError('file-unreadable', `cannot read ${file}: ${error.message}.`, { cause: error, cure });
  });
  const { priceFileFault } = await import('../app.ts');
  const fault = await priceFileFault(file, csv);
  if (fault === undefined) return csv;
  throw new CliError('input-refused', `${fault}.`, { cure: SEE_HELP });
}

function readingsOf(flags: Flags): Record<string, unknown> {
  const written = (flags.readings ?? []).map((text) => {
    const equals = text.indexOf('=');
    if (equals < 1) throw new UsageError(`--readings ${text}: expected name=value.`, SEE_LIST);
    return reading([text.slice(0, equals), text.slice(equals + 1)]);
  });
  const readings = Object.fromEntries(written);
  if (flags.nonce !== undefined) readings['nonceRule'] = flags.nonce;
  if (flags.margin !== undefined) readings['marginModel'] = flags.margin;
  return readings;
}

function listeningEvent({ baseUrl, baseUrls, controlUrl, controlToken, accounts }: RunningSimulator): object {
  return { event: 'listening', baseUrl, baseUrls, controlUrl, controlToken, accounts };
}

function welcome(io: CliIo, { baseUrls, controlUrl, controlToken, accounts }: RunningSimulator): string {
  const bold = (text: string) => paint(io, 'stdout', 'bold', text);
  const keys = accounts.map(
    ({ id, apiKey, apiSecret }) => `  ${id.padEnd(12)} key ${apiKey}\n  ${''.padEnd(12)} secret ${apiSecret}`,
  );
  return [
    bold('The simulated exchange is running.'),
    '',
    `  API          ${baseUrls.join('\n               ')}`,
    `  control API  ${controlUrl}`,
    ...(controlToken === undefined ? [] : [`  its token    ${controlToken} (Authorization: Bearer ...)`]),
    '',
    bold('Accounts'),
    ...keys,
    '',
    bold('Try'),
    `  curl ${baseUrls[0] ?? ''}/api/v4/public/ping`,
    `  curl ${controlUrl}/                          what the control API can do`,
    `  curl -X PUT ${controlUrl}/prices -H 'content-type: application/json' -d '{"BTC_USDT":"54000"}'`,
    `  curl ${controlUrl}/ledger                    what happened`,
    '',
    'Ctrl-C stops it.',
  ].join('\n');
}

async function list(io: CliIo, flags: Flags): Promise<void> {
  const { simulatorVocabulary } = await import('../app.ts');
  const words = await simulatorVocabulary();
  if (flags.json === true) return printJson(io, words);
  for (const [title, entries] of Object.entries(words)) {
    printLine(io, paint(io, 'stdout', 'bold', title));
    for (const [name, note] of Object.entries(entries)) printLine(io, `  ${name}\n      ${note}`);
  }
}

function ipv4(text: string): string {
  if (isIPv4(text)) return text;
  throw new InvalidArgumentError('Expected an IPv4 address such as 0.0.0.0.');
}

function numberUpTo(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= 0 && value <= max) return value;
    throw new InvalidArgumentError(`Expected a number from 0 to ${max}.`);
  };
}
