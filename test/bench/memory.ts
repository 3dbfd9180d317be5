import { setTimeout as sleep } from 'node:timers/promises';
import { builtProgram, type Held, heldBy, openInstalled, type RunningDaemon } from './installed.ts';
import { median, report } from './rounds.ts';

/**
 * Memory of the installed daemon, for each number of accounts: after it has watched them for a while at the usual
 * cadence, and again after several scrapes by Prometheus. Resident memory includes the pages of the Node program and
 * its libraries, about 35 MB that all Node processes of the machine share.
 */
const FLEETS = (process.env['BENCH_ACCOUNTS'] ?? '3,300,1000').split(',').map(Number);
const SETTLE_MS = Number(process.env['BENCH_SETTLE_MS'] ?? '60000');
const WINDOW_MS = Number(process.env['BENCH_WINDOW_MS'] ?? '20000');
const SCRAPES = Number(process.env['BENCH_SCRAPES'] ?? '6');
const SAMPLE_MS = 500;
const SCRAPE_MS = 5_000;
/** Upper bound of resident memory, in megabytes. */
const TARGETS: Readonly<Record<number, number>> = { 3: 120, 300: 250, 1000: 450 };

const program = await builtProgram();
for (const accounts of FLEETS) {
  const installed = await openInstalled(program, accounts);
  const { daemon, ...started } = await installed.start();
  await sleep(SETTLE_MS);
  const watching = await sampled(daemon, WINDOW_MS);
  const target = TARGETS[accounts];
  report('memory: installed daemon, at the usual cadence, MB', {
    accounts,
    residentMb: of(watching, 'residentMb'),
    ...(target === undefined ? {} : { targetResidentMb: target }),
    proportionalMb: of(watching, 'proportionalMb'),
    anonymousMb: of(watching, 'anonymousMb'),
    highestMb: Math.max(...watching.map(({ residentMb }) => residentMb)),
    peakSinceStartMb: of(watching, 'peakMb'),
    threads: of(watching, 'threads'),
    coreShare: ((watching.at(-1)?.cpuMs ?? Number.NaN) - (watching[0]?.cpuMs ?? Number.NaN)) / WINDOW_MS,
    allJudgedCpuMs: started.allCpuMs,
  });
  const scraping = await scraped(daemon);
  report('memory: the same while it is scraped, MB', {
    accounts,
    scrapes: SCRAPES,
    residentMb: of(scraping, 'residentMb'),
    anonymousMb: of(scraping, 'anonymousMb'),
    highestMb: Math.max(...scraping.map(({ residentMb }) => residentMb)),
  });
  await daemon.stop();
  await installed.close();
}

function of(samples: readonly Held[], figure: keyof Held): number {
  return median(samples.map((sample) => sample[figure]));
}

async function sampled({ pid }: RunningDaemon, windowMs: number): Promise<readonly Held[]> {
  const samples: Held[] = [];
  for (let elapsedMs = 0; elapsedMs < windowMs; elapsedMs += SAMPLE_MS) {
    samples.push(heldBy(pid));
    await sleep(SAMPLE_MS);
  }
  return samples;
}

/** Scrapes as Prometheus does: with gzip, repeatedly. */
async function scraped(daemon: RunningDaemon): Promise<readonly Held[]> {
  const samples: Held[] = [];
  for (let scrape = 0; scrape < SCRAPES; scrape++) {
    const response = await fetch(`${daemon.url}/metrics`, { headers: { 'accept-encoding': 'gzip' } });
    if (!response.ok || (await response.text()).length === 0) throw new Error('the scrape failed');
    samples.push(...(await sampled(daemon, SCRAPE_MS)));
  }
  return samples;
}
