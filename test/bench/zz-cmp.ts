import { setTimeout as sleep } from 'node:timers/promises';
import { heldBy, openInstalled } from './installed.ts';
import { median } from './rounds.ts';
const [accounts = '3', rounds = '5', settle = '0', ...names] = process.argv.slice(2);
const opened = [];
for (const name of names) opened.push({ name, installed: await openInstalled(name.startsWith('/') ? name : `/tmp/wt/v/${name}/dist/src/cli/main.js`, Number(accounts)), cpu: [] as number[], ms: [] as number[], all: [] as number[], rss: [] as number[], anon: [] as number[] });
try {
  for (let r = 0; r <= Number(rounds); r++) {
    for (const one of r % 2 === 0 ? opened : opened.toReversed()) {
      const s = await one.installed.start();
      await sleep(Number(settle));
      const h = heldBy(s.daemon.pid);
      await s.daemon.stop();
      if (r === 0) continue;
      one.cpu.push(s.firstCpuMs); one.ms.push(s.firstMs); one.all.push(s.allCpuMs); one.rss.push(h.residentMb); one.anon.push(h.anonymousMb);
    }
  }
} finally {
  for (const { installed } of opened) await installed.close().catch((e: unknown) => console.error(e));
}
import { readFileSync } from 'node:fs';
for (const o of opened) console.log(o.name.padEnd(12), 'firstCpu', median(o.cpu), JSON.stringify(o.cpu), 'allCpu', median(o.all), 'firstMs', Math.round(median(o.ms)), 'rss', median(o.rss).toFixed(1), 'anon', median(o.anon).toFixed(1));
console.log('load', readFileSync('/proc/loadavg', 'utf8').trim());
