import { parentPort } from 'node:worker_threads';
import { caseAt, controlAt } from './case-at.ts';
import { judgeControl } from './control.ts';
import { judge } from './judge.ts';
import { scenarioCase } from './scenarios.ts';
import { judgeSlow } from './slow/judge-slow.ts';
import { slowCase } from './slow/slow-case.ts';
import type { Answer, Work } from './work.ts';

/** Plays the tasks it receives, one after another, and answers with the results. */
const port = parentPort;
port?.on('message', (work: Work) => {
  void play(work).then((answer) => port.postMessage(answer));
});

async function play({ kind, seed, index, fixed }: Work): Promise<Answer> {
  switch (kind) {
    case 'control':
      return { kind, index, result: await judgeControl(controlAt(seed, index, fixed)) };
    case 'scenario':
      return { kind, index, result: await judge(scenarioCase(seed, index)) };
    case 'slow':
      return { kind, index, result: await judgeSlow(slowCase(seed, index)) };
    case 'case':
      return { kind, index, result: await judge(caseAt(seed, index, fixed)) };
  }
}
