import { account } from './account.ts';
import { operations } from './operations.ts';
import { overview } from './overview.ts';

const FOLDER = 'config/grafana/dashboards';

/** Dashboard files for Grafana's provisioning: text by path from the root. */
export function dashboardFiles(): Readonly<Record<string, string>> {
  const dashboards = { overview: overview(), account: account(), operations: operations() };
  return Object.fromEntries(
    Object.entries(dashboards).map(([name, dashboard]) => [
      `${FOLDER}/${name}.json`,
      `${JSON.stringify(dashboard, undefined, 2)}\n`,
    ]),
  );
}
