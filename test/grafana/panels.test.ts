import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PositionSheet } from '../../src/simulator/model/views.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { troubles } from '../daemon/world.ts';
import { DASHBOARDS, panelsOf, queryOf } from './dashboards.ts';
import { hasPrometheus, type Prometheus, type Sample, startPrometheus } from './prometheus.ts';
import { openEverything, type Scene, TOKEN } from './scene.ts';

/** The account of the scene that has positions and a credit line. */
const ACCOUNT = 'account-4';
const WITHIN_MS = 240_000;

interface Question {
  /** Place of the query, for messages. */
  readonly where: string;
  readonly expr: string;
  readonly ask: (prometheus: Prometheus) => Promise<readonly unknown[]>;
}

/** Every query of every panel, variable and annotation, as Grafana would send it. */
function questions(): readonly Question[] {
  return DASHBOARDS.flatMap((dashboard) => {
    const isSingle = dashboard.templating.list.some(
      ({ name, multi }) => name === 'account' && multi !== true,
    );
    const filled = (expr: string): string =>
      expr
        .replaceAll('$__rate_interval', '5s')
        .replaceAll('$account', isSingle ? ACCOUNT : '.*')
        .replaceAll(/\$(market|instance)/g, '.*');
    const panels = panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
      targets.map((target): Question => {
        const expr = filled(target.expr);
        const ask = target.instant === true ? 'query' : 'range';
        return {
          where: `${dashboard.title}: ${title} ${target.refId}`,
          expr,
          ask: (prometheus) => prometheus[ask](expr),
        };
      }),
    );
    const variables = dashboard.templating.list
      .filter(({ type }) => type === 'query')
      .map((variable): Question => {
        const expr = filled(queryOf(variable));
        const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(expr) ?? [];
        return {
          where: `${dashboard.title}: $${variable.name}`,
          expr,
          ask: (prometheus) => prometheus.labelValues(selector, label),
        };
      });
    const annotations = dashboard.annotations.list.map(({ name, expr: text }): Question => {
      const expr = filled(text);
      return { where: `${dashboard.title}: ${name}`, expr, ask: (prometheus) => prometheus.range(expr) };
    });
    return [...panels, ...variables, ...annotations];
  });
}

/** `count(...) or vector(0)` always has an answer, so each selector must also find something by itself. */
function selectors(all: readonly Question[]): readonly Question[] {
  const found = all.flatMap(({ where, expr }) =>
    [...expr.matchAll(/\bbreakwater_[a-z0-9_]+(?:\{[^}]*\})?/g)].map(([selector]) => ({
      where,
      // Timelines query each value that a label may have; it has one at a time.
      selector: selector.replace(/, (state|cover)="\w+"/, ''),
    })),
  );
  const unique = new Map(found.map(({ where, selector }) => [selector, where]));
  return [...unique].map(([selector, where]) => ({
    where: `${where}, its selector`,
    expr: selector,
    ask: (prometheus) => prometheus.range(selector),
  }));
}

/** Queries without an answer yet; waits, while the scene goes on, until there are none or time is up. */
async function unanswered(
  scene: Scene,
  prometheus: Prometheus,
  all: readonly Question[],
): Promise<readonly Question[]> {
  const giveUpMs = performance.now() + WITHIN_MS;
  let open = all;
  while (open.length > 0 && performance.now() < giveUpMs) {
    await scene.goOn();
    await sleep(2_000);
    const answers = await Promise.all(open.map(({ ask }) => ask(prometheus)));
    open = open.filter((_, index) => answers[index]?.length === 0);
  }
  return open;
}

test('every panel, variable and annotation of every dashboard shows data of a busy daemon', async ({
  annotate,
  skip,
}) => {
  if (!hasPrometheus()) skip('prometheus is not on the PATH (Debian: apt-get install prometheus)');
  const scene = await openEverything();
  const target = new URL(scene.daemon.webUrl() ?? '').host;
  const prometheus = await startPrometheus({ target, token: TOKEN });
  closeAfterTest(() => prometheus.stop());
  await expect.poll(() => prometheus.query('up == 1')).toHaveLength(1);
  const all = questions();
  expect(all.length).toBeGreaterThan(100);
  const open = await unanswered(scene, prometheus, [...all, ...selectors(all)]);
  if (open.length > 0) await annotate(JSON.stringify(troubles(scene.events), null, 1));
  expect(open.map(({ where, expr }) => `${where}: ${expr}`)).toEqual([]);
  const alerts = await prometheus.query('ALERTS{alertname=~"Breakwater.+"}');
  await annotate(`alerts: ${[...new Set(alerts.map(({ metric }) => metric['alertname']))].join(', ')}`);
  await checkFigures(scene, prometheus);
  checkLives(scene);
});

/** Compares some figures with the exchange's own. */
async function checkFigures({ simulator }: Scene, prometheus: Prometheus): Promise<void> {
  const overview = DASHBOARDS.find(({ uid }) => uid === 'breakwater-overview');
  const table = (overview === undefined ? [] : panelsOf(overview)).find(({ title }) => title === 'Positions');
  const expr = table?.targets?.[0]?.expr.replaceAll(/\$(account|market)/g, '.*') ?? '';
  const ids = (all: readonly string[]): ReadonlySet<string> => new Set(all);
  const shown = async () =>
    ids((await prometheus.query(expr)).map(({ metric }: Sample) => metric['position'] ?? ''));
  const open = simulator.model
    .accountIds()
    .flatMap((id) => simulator.model.openPositions(id).filter(hasDistance))
    .map(({ positionId }) => String(positionId));
  expect(open.length).toBeGreaterThan(5);
  await expect.poll(shown).toEqual(ids(open));
}

/** Each account reports each new store epoch with one event. */
function checkLives({ simulator, events }: Scene): void {
  const begun = events.flatMap((event) =>
    event.kind === 'epochStarted' ? [`${event.accountId} ${event.epoch}`] : [],
  );
  expect(new Set(begun).size).toBe(begun.length);
  const accounts = new Set(begun.map((text) => text.split(' ')[0] ?? ''));
  expect(accounts).toEqual(new Set(simulator.model.accountIds()));
}

/** The far leg of a hedge may be past its own liquidation price, so no distance is shown. */
function hasDistance({ direction, liquidationPrice, markPrice }: PositionSheet): boolean {
  if (liquidationPrice === null) return false;
  return direction === 'long' ? liquidationPrice.lt(markPrice) : liquidationPrice.gt(markPrice);
}
