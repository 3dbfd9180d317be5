import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { dashboardFiles } from '../../scripts/grafana/dashboards.ts';
import { DASHBOARDS, type Panel, panelsOf, queryOf } from './dashboards.ts';

describe('the dashboards are fresh (else run npm run generate)', () => {
  test.each(Object.entries(dashboardFiles()))('%s', (file, text) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(text);
  });

  test('there are no others', () => {
    expect(DASHBOARDS).toHaveLength(Object.keys(dashboardFiles()).length);
  });
});

/** Variables that Grafana itself fills in. */
const BUILT_IN = new Set(['__rate_interval', '__value', '__url_time_range']);

describe.each(DASHBOARDS.map((dashboard) => [dashboard.title, dashboard] as const))('%s', (_, dashboard) => {
  const panels = panelsOf(dashboard);

  test('every panel has a description, units, and its own data source', () => {
    expect(panels.length).toBeGreaterThan(10);
    for (const panel of panels) {
      const { title, description = '', datasource, targets = [] } = panel;
      expect([title, title.length > 2, description.length > 15]).toEqual([title, true, true]);
      expect(datasource).toEqual({ type: 'prometheus', uid: '$datasource' });
      expect([title, targets.length > 0]).toEqual([title, true]);
      for (const target of targets) {
        expect(target.datasource?.uid).toBe('$datasource');
        expect([title, target.instant === true, target.range === true]).toSatisfy(
          ([, instant, range]: readonly [string, boolean, boolean]) => instant !== range,
        );
      }
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
  });

  test('legends of curves use labels that their query keeps', () => {
    for (const { type, title, targets = [] } of panels) {
      if (type !== 'timeseries' && type !== 'state-timeline') continue;
      for (const { expr, legendFormat = '' } of targets) {
        expect([title, legendFormat]).not.toEqual([title, '']);
        const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          if (kept.length > 0) expect([title, kept]).toEqual([title, expect.arrayContaining([label])]);
        }
      }
    }
  });

  test('panels have unique ids, lie on the grid and do not overlap', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const panel of dashboard.panels) {
      const { x, w, h } = panel.gridPos;
      expect([panel.title, x >= 0 && x + w <= 24 && h > 0]).toEqual([panel.title, true]);
    }
    for (const [index, panel] of dashboard.panels.entries()) {
      const over = dashboard.panels.slice(index + 1).filter((other) => overlaps(panel, other));
      expect([panel.title, over.map(({ title }) => title)]).toEqual([panel.title, []]);
    }
  });

  test('every used variable is defined, and every defined one is used', () => {
    const variables = dashboard.templating.list.map(({ name }) => name);
    const text = JSON.stringify({ panels: dashboard.panels, annotations: dashboard.annotations });
    const queries = dashboard.templating.list.map(queryOf).join(' ');
    const used = [...`${text} ${queries}`.matchAll(/\$\{?([a-zA-Z_]+)/g)].map(([, name = '']) => name);
    expect(used.filter((name) => !BUILT_IN.has(name) && !variables.includes(name))).toEqual([]);
    expect(variables.filter((name) => !used.includes(name))).toEqual([]);
  });

  test('links lead to existing dashboards', () => {
    const links = [...JSON.stringify(dashboard).matchAll(/\/d\/([a-z-]+)/g)].map(([, uid = '']) => uid);
    const uids = new Set(DASHBOARDS.map(({ uid }) => uid));
    expect(links.filter((uid) => !uids.has(uid))).toEqual([]);
    expect(dashboard.tags).toContain('breakwater');
  });
});

function overlaps({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
